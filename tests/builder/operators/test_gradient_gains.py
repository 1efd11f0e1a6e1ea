"""The gain of every family of gradients against float64: the bound holds and is not too loose."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from builder.operators.gradient_gains import Backward
from builder.operators.table import TABLE, gradient_gains, has
from tests.builder.operators.test_gains import operand, result_of

Computed = Callable[..., Tensor]
Shapes = list[tuple[int, ...]]
LABELS = torch.arange(8) % 5
TOKENS = torch.arange(24).reshape(4, 6) % 8
# (call, what it computes, shapes of its operands, whether they are positive, how loose at most)
CALLS: list[tuple[str, Computed, Shapes, bool, float]] = [
    ("add", torch.add, [(8, 16), (16,)], False, 4),
    ("sub", torch.sub, [(8, 16), (8, 16)], False, 2),
    ("mul", torch.mul, [(8, 16), (8, 1)], False, 28),
    ("div", torch.div, [(8, 16), (8, 16)], True, 42),
    ("div", torch.div, [(8, 16), (16,)], True, 42),
    ("reciprocal", torch.reciprocal, [(8, 16)], True, 6),
    ("rsqrt", torch.rsqrt, [(8, 16)], True, 6),
    ("sqrt", torch.sqrt, [(8, 16)], True, 4),
    ("log", torch.log, [(8, 16)], True, 7),
    ("exp", torch.exp, [(8, 16)], False, 9),
    ("sum", lambda x: x.sum(-1), [(8, 16)], False, 2),
    ("mean", lambda x: x.mean(-1), [(8, 16)], False, 2),
    ("sin", torch.sin, [(8, 16)], False, 5),
    ("cos", torch.cos, [(8, 16)], False, 6),
    ("tanh", torch.tanh, [(8, 16)], False, 5),
    ("sigmoid", torch.sigmoid, [(8, 16)], False, 3),
    ("softplus", functional.softplus, [(8, 16)], False, 4),
    ("logsigmoid", functional.logsigmoid, [(8, 16)], False, 4),
    ("gelu", functional.gelu, [(8, 16)], False, 6),
    ("silu", functional.silu, [(8, 16)], False, 5),
    ("mish", functional.mish, [(8, 16)], False, 5),
    ("elu", functional.elu, [(8, 16)], False, 6),
    ("softmax", lambda x: x.softmax(-1), [(8, 16)], False, 24),
    ("log_softmax", lambda x: x.log_softmax(-1), [(8, 16)], False, 30),
    ("matmul", torch.matmul, [(3, 8, 16), (3, 16, 5)], False, 3),
    ("matmul", torch.matmul, [(3, 8, 16), (16, 5)], False, 3),
    ("mv", torch.mv, [(8, 16), (16,)], False, 5),
    ("linear", functional.linear, [(3, 8, 16), (5, 16), (5,)], False, 12),
    ("conv2d", functional.conv2d, [(2, 4, 9, 9), (6, 4, 3, 3), (6,)], False, 12),
    ("conv2d", lambda x, w: functional.conv2d(x, w, stride=2, groups=2),
     [(2, 4, 9, 9), (6, 2, 3, 3)], False, 12),
    ("addmm", torch.addmm, [(5,), (8, 16), (16, 5)], False, 8),
    ("layer_norm", lambda x, w, b: functional.layer_norm(x, (64,), w, b), [(8, 64), (64,), (64,)],
     False, 40),
    ("rms_norm", lambda x, w: functional.rms_norm(x, (64,), w), [(8, 64), (64,)], False, 40),
    ("cross_entropy", lambda x: functional.cross_entropy(x, LABELS), [(8, 5)], False, 8),
    ("cross_entropy", lambda x: functional.cross_entropy(x, LABELS, reduction="none"), [(8, 5)],
     False, 8),
    ("nll_loss", lambda x: functional.nll_loss(x, LABELS), [(8, 5)], False, 12),
    ("repeat", lambda x: x.repeat(3, 1), [(8, 16)], False, 3),
    ("transpose", lambda x: x.transpose(0, 1), [(8, 16)], False, 2),
    ("cat", lambda x, y: torch.cat((x, y)), [(8, 16), (4, 16)], False, 4),
    ("embedding", lambda w: functional.embedding(TOKENS, w), [(8, 5)], False, 3),
]  # fmt: skip


def gradients(call: Computed, read: list[Tensor], flowing: Tensor) -> tuple[Tensor, list[Tensor]]:
    leaves = [one.clone().requires_grad_() for one in read]
    result = call(*leaves)
    return result.detach(), list(torch.autograd.grad(result, leaves, flowing))


@pytest.mark.parametrize(("name", "call", "shapes", "positive", "loose"), CALLS)
@pytest.mark.parametrize("apart", [1e-6, 1e-3, 1e-1])
@pytest.mark.parametrize("moves", ["all", "the flow", "the operands"])
def test_the_bound_holds_and_is_not_much_too_loose(
    name: str, call: Computed, shapes: Shapes, positive: bool, loose: float, apart: float,
    moves: str,
) -> None:  # fmt: skip
    torch.manual_seed(3)  # one that the factors were not read from
    draw = torch.rand if positive else torch.randn
    read = [positive + draw(shape, dtype=torch.float64) for shape in shapes]
    by = 0.0 if moves == "the flow" else apart
    moved = [one + by * torch.randn_like(one) for one in read]
    if positive:
        moved = [one.clamp(min=0.5) for one in moved]
    flow = torch.randn_like(call(*read))
    flows = flow, flow + (0.0 if moves == "the operands" else apart) * torch.randn_like(flow)
    results, found = zip(*(gradients(call, *each) for each in zip((read, moved), flows)))
    operands = [operand(*both) for both in zip(read, moved)]
    for of, (one, other) in enumerate(zip(*found)):
        given = Backward(
            operands, {}, operand(*results), operand(*flows), of, result_of(one, other)
        )
        gains = gradient_gains(name, given)
        assert gains is not None
        expected = gains.flowing * given.flowing.distance + gains.result * given.result.distance
        expected += sum(gain * operands[i].distance for i, gain in gains.operands.items())
        distance = float((one - other).norm())
        # The bounds of sums over many terms are those of random signs: the rest is chance.
        assert distance <= 1.4 * expected + 1e-12
        if moves == "all":
            assert expected <= loose * distance


@pytest.mark.parametrize(
    "name", sorted(call for call, row in TABLE.items() if row.gradient and not has(call, "moves"))
)
def test_no_call_has_gradients_of_operands_that_it_lacks(name: str) -> None:
    one = operand(torch.ones(2), torch.ones(2))
    given = Backward([], {}, one, one, 0, result_of(torch.ones(2), torch.ones(2)))
    assert gradient_gains(name, given) is None


@pytest.mark.parametrize("name", ["", "einsum"])
def test_nothing_is_known_of_other_calls(name: str) -> None:
    one = operand(torch.ones(2), torch.ones(2))
    given = Backward([one], {}, one, one, 0, result_of(torch.ones(2), torch.ones(2)))
    assert gradient_gains(name, given) is None
