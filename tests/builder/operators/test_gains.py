"""The gain of every family of calls against float64: the bound holds and is not much too loose."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from builder.operators.gains import Operand, Result
from builder.operators.table import TABLE, gains_of, has

Computed = Callable[..., Tensor]
Shapes = list[tuple[int, ...]]
# (call, what it computes, shapes of its operands, whether they are positive, how loose at most)
CALLS: list[tuple[str, Computed, Shapes, bool, float]] = [
    ("add", torch.add, [(8, 16), (16,)], False, 2),
    ("sub", torch.sub, [(8, 16), (8, 16)], False, 2),
    ("mul", torch.mul, [(8, 16), (8, 1)], False, 8),
    ("div", torch.div, [(8, 16), (8, 16)], True, 8),
    ("reciprocal", torch.reciprocal, [(8, 16)], True, 3),
    ("rsqrt", torch.rsqrt, [(8, 16)], True, 3),
    ("sqrt", torch.sqrt, [(8, 16)], True, 3),
    ("log", torch.log, [(8, 16)], True, 3),
    ("exp", torch.exp, [(8, 16)], False, 12),
    ("sum", lambda x: x.sum(-1), [(8, 16)], False, 8),
    ("mean", lambda x: x.mean(-1), [(8, 16)], False, 8),
    ("sin", torch.sin, [(8, 16)], False, 3),
    ("cos", torch.cos, [(8, 16)], False, 3),
    ("tanh", torch.tanh, [(8, 16)], False, 3),
    ("sigmoid", torch.sigmoid, [(8, 16)], False, 3),
    ("softplus", functional.softplus, [(8, 16)], False, 4),
    ("logsigmoid", functional.logsigmoid, [(8, 16)], False, 4),
    ("gelu", functional.gelu, [(8, 16)], False, 4),
    ("silu", functional.silu, [(8, 16)], False, 4),
    ("mish", functional.mish, [(8, 16)], False, 4),
    ("leaky_relu", functional.leaky_relu, [(8, 16)], False, 3),
    ("elu", functional.elu, [(8, 16)], False, 3),
    ("softmax", lambda x: x.softmax(-1), [(8, 16)], False, 12),
    ("log_softmax", lambda x: x.log_softmax(-1), [(8, 16)], False, 4),
    ("matmul", torch.matmul, [(3, 8, 16), (3, 16, 5)], False, 8),
    ("matmul", torch.matmul, [(3, 8, 16), (16, 5)], False, 8),
    ("_grouped_mm", torch.matmul, [(3, 8, 16), (3, 16, 5)], False, 12),
    ("mv", torch.mv, [(8, 16), (16,)], False, 8),
    ("linear", functional.linear, [(3, 8, 16), (5, 16), (5,)], False, 8),
    ("conv2d", functional.conv2d, [(2, 4, 9, 9), (6, 4, 3, 3), (6,)], False, 8),
    ("addcmul", torch.addcmul, [(8, 16), (8, 16), (8, 16)], False, 12),
    ("addcdiv", torch.addcdiv, [(8, 16), (8, 16), (8, 16)], True, 12),
    ("addmm", torch.addmm, [(8, 5), (8, 16), (16, 5)], False, 8),
    ("layer_norm", lambda x, w, b: functional.layer_norm(x, (64,), w, b), [(8, 64), (64,), (64,)],
     False, 30),
    ("rms_norm", lambda x, w: functional.rms_norm(x, (64,), w), [(8, 64), (64,)], False, 30),
    ("relu", functional.relu, [(8, 16)], False, 3),
    ("repeat", lambda x: x.repeat(3, 1), [(8, 16)], False, 2),
    ("cat", lambda x, y: torch.cat((x, y)), [(8, 16), (4, 16)], False, 2),
    ("masked_fill", lambda x: x.masked_fill(torch.arange(16) % 2 == 0, 0.0), [(8, 16)], False, 3),
]  # fmt: skip


def operand(one: Tensor, other: Tensor) -> Operand:
    both = torch.stack((one, other))
    smallest = float(both.abs().min()) if bool((both > 0).all() or (both < 0).all()) else 0.0
    return Operand(
        float((one - other).norm()),
        max(float(one.norm()), float(other.norm())),
        max(float(one.mean().abs()), float(other.mean().abs())),
        float(both.abs().max()),
        tuple(one.shape),
        smallest,
    )


def result_of(one: Tensor, other: Tensor) -> Result:
    largest = max(float(one.abs().max()), float(other.abs().max()))
    return Result(one.numel(), max(float(one.norm()), float(other.norm())), largest)


def bound(name: str, operands: list[Operand], result: Result, **factors: float) -> float:
    gains = gains_of(name, operands, factors, result)
    assert gains is not None
    return sum(gain * one.distance for gain, one in zip(gains, operands) if one.distance)


@pytest.mark.parametrize(("name", "call", "shapes", "positive", "loose"), CALLS)
@pytest.mark.parametrize("apart", [1e-6, 1e-3, 1e-1])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_holds_and_is_not_much_too_loose(
    name: str, call: Computed, shapes: Shapes, positive: bool, loose: float, apart: float, seed: int
) -> None:
    torch.manual_seed(seed)
    read = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    if positive:
        read = [1.0 + torch.rand(shape, dtype=torch.float64) for shape in shapes]
    moved = [one + apart * torch.randn_like(one) for one in read]
    if positive:
        moved = [one.clamp(min=0.5) for one in moved]
    one, other = call(*read), call(*moved)
    expected = bound(name, [operand(*both) for both in zip(read, moved)], result_of(one, other))
    distance = float((one - other).norm())
    # The bounds of sums over many terms are those of random signs: a sixth more is chance.
    assert distance <= 1.17 * expected
    assert expected <= 4 * loose * distance


@pytest.mark.parametrize(
    "name", sorted(call for call, row in TABLE.items() if row.gain and not has(call, "moves"))
)
def test_no_call_has_a_gain_of_operands_that_it_lacks(name: str) -> None:
    assert gains_of(name, [], {}, Result(1, 1.0, 1.0)) is None


def test_numbers_multiply_what_is_added() -> None:
    x, moved = torch.ones(4), torch.full((4,), 1.5)
    operands = [operand(x, x), operand(x, moved)]
    assert bound("add", operands, Result(4, 1, 1), alpha=3.0) == pytest.approx(3.0)


def test_a_power_grows_by_its_derivative() -> None:
    x, moved = torch.full((4,), 2.0), torch.full((4,), 2.01)
    three = Operand(0.0, 3.0, 3.0, 3.0, (), 3.0)
    apart = float((moved**3 - x**3).norm())
    assert bound("pow", [operand(x, moved), three], Result(4, 16, 8)) == pytest.approx(apart, 0.01)


def test_a_root_of_what_is_nearly_zero_has_a_finite_bound() -> None:
    """|√x − √y| ≤ √|x − y|, also at zero."""
    x = torch.tensor([0.0, 1e-12, 1e-6, 1.0], dtype=torch.float64)
    y = torch.tensor([1e-8, 0.0, 2e-6, 1.0], dtype=torch.float64)
    operands, result = [operand(x, y)], result_of(x.sqrt(), y.sqrt())
    assert float((x.sqrt() - y.sqrt()).norm()) <= bound("sqrt", operands, result) < 1.0


@pytest.mark.parametrize("name", ["reciprocal", "rsqrt", "log"])
def test_what_may_be_zero_has_no_bound(name: str) -> None:
    x = torch.tensor([-1.0, 1.0])
    gains = gains_of(name, [operand(x, x)], {}, Result(2, 1.0, 1.0))
    assert gains is not None and not isfinite(gains[0])


def test_the_mean_of_cross_entropies() -> None:
    torch.manual_seed(0)
    logits = torch.randn(32, 10, dtype=torch.float64)
    moved = logits + 0.01 * torch.randn_like(logits)
    labels = torch.randint(0, 10, (32,))
    one, other = (functional.cross_entropy(x, labels) for x in (logits, moved))
    expected = bound("cross_entropy", [operand(logits, moved)], result_of(one, other))
    assert abs(float(one - other)) <= expected <= 0.2


@pytest.mark.parametrize("name", ["", "einsum"])
def test_nothing_is_known_of_other_calls(name: str) -> None:
    one = Operand(1.0, 1.0, 0.0, 1.0, (4,))
    assert gains_of(name, [one], {}, Result(4, 1.0, 1.0)) is None
