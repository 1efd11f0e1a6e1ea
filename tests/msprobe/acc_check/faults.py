"""Ten kinds of wrong operators, put into the device's side of a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from tests.msprobe.acc_check.calls import Call, Fault, Function, call, with_gradient


def on_output(change: Callable[[torch.Tensor], torch.Tensor]) -> Fault:
    """Changes the first tensor that comes out."""

    def fault(function: Function) -> Function:
        def faulty(*args: Any, **kwargs: Any) -> Any:
            out = function(*args, **kwargs)
            if isinstance(out, tuple):
                return (change(out[0]), *out[1:])
            return change(out)

        return faulty

    return fault


def on_input(position: int, change: Callable[[torch.Tensor], torch.Tensor]) -> Fault:
    """Gives the operator another argument than the one it was called with."""

    def fault(function: Function) -> Function:
        def faulty(*args: Any, **kwargs: Any) -> Any:
            given = [change(arg) if n == position else arg for n, arg in enumerate(args)]
            return function(*given, **kwargs)

        return faulty

    return fault


def instead(other: Function) -> Fault:
    """Another function with the same arguments."""
    return lambda _: other


def in_16_bit(function: Function) -> Function:
    """Inputs, sums and results in bfloat16, though the call is in float32."""

    def narrow(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            return value.bfloat16()
        return value

    def faulty(*args: Any, **kwargs: Any) -> Any:
        return function(*map(narrow, args), **kwargs).float()

    return faulty


def one_element(out: torch.Tensor) -> torch.Tensor:
    mask = torch.zeros(out.numel(), dtype=torch.bool)
    mask[int(out.detach().abs().argmax())] = True
    return torch.where(mask.reshape(out.shape), out * 1.001, out)


def wrong_stride(out: torch.Tensor) -> torch.Tensor:
    """The memory read in another order than it was written."""
    if out.dim() < 2:
        return out.flip(0) if out.dim() else out * 2
    return out.transpose(-1, -2).reshape(out.shape)


def one_nan(out: torch.Tensor) -> torch.Tensor:
    mask = torch.zeros(out.numel(), dtype=torch.bool)
    mask[-1] = True
    return out.masked_fill(mask.reshape(out.shape), float("nan"))


def off_by_one(out: torch.Tensor) -> torch.Tensor:
    return out.roll(1, -1) if out.dim() else out + 1


class _ScaledGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, out: torch.Tensor) -> torch.Tensor:
        return out.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 1.001


def wrong_gradient(out: torch.Tensor) -> torch.Tensor:
    return _ScaledGradient.apply(out)  # type: ignore[no-untyped-call]


def stale(out: torch.Tensor) -> torch.Tensor:
    """The last row still holds what was there before."""
    if not out.dim():
        return torch.zeros_like(out)
    keep = torch.ones(out.shape, dtype=torch.bool)
    keep[-1] = False
    return torch.where(keep, out, torch.full_like(out, 0.125))


def without(position: int, keyword: str | None = None) -> Fault:
    """Leaves an argument out."""

    def fault(function: Function) -> Function:
        def faulty(*args: Any, **kwargs: Any) -> Any:
            given = [None if n == position else arg for n, arg in enumerate(args)]
            kept = {key: value for key, value in kwargs.items() if key != keyword}
            return function(*given, **kept)

        return faulty

    return fault


@dataclass(frozen=True)
class Family:
    """An operator with the faults that have a form of their own there."""

    name: str
    made: Call
    formula: Fault
    accumulation: Fault
    index: Fault
    weight: Fault
    bias: Fault

    def faults(self) -> dict[str, Fault]:
        """All ten kinds."""
        return {
            "wrong formula": self.formula,
            "wrong accumulate format": self.accumulation,
            "one element": on_output(one_element),
            "wrong stride": on_output(wrong_stride),
            "NaN": on_output(one_nan),
            "off-by-one index": self.index,
            "wrong gradient": on_output(wrong_gradient),
            "transposed weight": self.weight,
            "missing bias": self.bias,
            "stale buffer": on_output(stale),
        }


def _normal(*shape: int, gradient: bool = False) -> torch.Tensor:
    made = torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))
    return made.requires_grad_(gradient)


def _family(
    made: Call,
    out: torch.Tensor,
    formula: Fault,
    *,
    accumulation: Fault = in_16_bit,
    index: Fault | None = None,
    weight: Fault | None = None,
    bias: Fault | None = None,
) -> Family:
    """`weight` and `bias` are what comes nearest to them where the operator has none."""
    transposed = on_input(0, lambda x: x.transpose(-1, -2).reshape(x.shape))
    return Family(
        made.name,
        with_gradient(made, out),
        formula,
        accumulation,
        index or on_output(off_by_one),
        weight or transposed,
        bias or on_input(0, lambda x: x - 0.01),
    )


def families() -> list[Family]:
    """Products, convolution, norms, activations, losses, attention, sums, indexing, arithmetic."""
    x, w, b = (_normal(*s, gradient=True) for s in ((16, 64), (64, 64), (64,)))
    image, kernel = _normal(2, 4, 8, 8, gradient=True), _normal(4, 4, 3, 3, gradient=True)
    scale = (1 + 0.1 * _normal(64)).requires_grad_()
    q, k, v = (_normal(2, 2, 12, 8, gradient=True) for _ in range(3))
    shift = _normal(4, gradient=True)
    rows = torch.arange(12) % 16
    labels = torch.arange(16) * 3 % 64
    zeros, ones = torch.zeros(4), torch.ones(4)
    transposed = on_input(1, lambda weight: weight.transpose(0, 1))
    return [
        _family(
            call("Functional.linear", x, w, b),
            _normal(16, 64),
            on_output(lambda out: out * 1.0001),
            weight=transposed,
            bias=without(2),
        ),
        _family(
            call("Torch.matmul", x, w),
            _normal(16, 64),
            on_output(lambda out: out + 1e-3),
            weight=transposed,
        ),
        _family(
            call("Functional.conv2d", image, kernel, shift, [1, 1], [1, 1], [1, 1], 1),
            _normal(2, 4, 8, 8),
            instead(lambda i, w, b, *rest: functional.conv2d(i, w.flip(-1), b, *rest)),
            weight=transposed,
            bias=without(2),
        ),
        _family(
            call("Functional.layer_norm", x, [64], scale, b, 1e-5),
            _normal(16, 64),
            instead(lambda i, s, w, b, _: functional.layer_norm(i, s, w, b, 1e-3)),
            weight=on_input(2, lambda weight: weight.flip(0)),
            bias=without(3),
        ),
        _family(
            call("Functional.batch_norm", image, zeros, ones, ones, shift, True, 0.1, 1e-5),
            _normal(2, 4, 8, 8),
            instead(lambda i, m, v, w, b, *_: functional.batch_norm(i, m, v, w, b, False)),
            accumulation=on_output(lambda out: out.bfloat16().float()),
            weight=on_input(0, lambda i: i.transpose(0, 1).reshape(i.shape)),
            bias=without(4),
        ),
        _family(
            call("Functional.softmax", x, dim=-1),
            _normal(16, 64),
            instead(lambda i, dim: functional.softmax(i * 1.001, dim)),
            bias=on_output(lambda out: out + 1e-5),
        ),
        _family(
            call("Functional.gelu", x, approximate="none"),
            _normal(16, 64),
            instead(lambda i, approximate: functional.gelu(i, approximate="tanh")),
        ),
        _family(
            call("Functional.cross_entropy", x, labels),
            torch.ones(()),
            instead(lambda i, t: functional.cross_entropy(i, t, label_smoothing=0.001)),
            index=on_input(1, lambda t: (t + 1) % 64),
            bias=on_input(0, lambda i: i * 1.01),
        ),
        _family(
            call("Functional.scaled_dot_product_attention", q, k, v),
            _normal(2, 2, 12, 8),
            instead(lambda *i: functional.scaled_dot_product_attention(*i, scale=0.36)),
            weight=on_input(2, lambda each: each.transpose(-1, -2).reshape(each.shape)),
            bias=instead(lambda *i: functional.scaled_dot_product_attention(*i, is_causal=True)),
        ),
        _family(
            call("Tensor.sum", x, -1),
            _normal(16),
            instead(lambda i, dim: i[:, 1:].sum(dim)),
        ),
        _family(
            call("Torch.index_select", x, 0, rows),
            _normal(12, 64),
            instead(lambda i, dim, at: torch.index_select(i, dim, at) * 1.0001),
            index=on_input(2, lambda at: (at + 1) % 16),
        ),
        _family(
            call("Tensor.__mul__", x, x.detach()),
            _normal(16, 64),
            instead(lambda one, other: one * other * 1.00001),
        ),
    ]
