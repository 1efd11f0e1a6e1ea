"""How far apart two tensors are, computed in blocks: memory stays that of the tensors alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch

BLOCK = 1 << 16  # elements; four float64 copies of it are 2 MiB and stay in the cache
Agreement = Literal["equal", "rounding", "differs"]
_MANTISSA_ORDER = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


@dataclass(frozen=True, slots=True)
class Distance:
    """`l2` is |a - b|, `relative` |a - b| / |b|, `cosine` lies in [-1, 1].

    A measure is None where values are not finite on one side only; `non_finite` counts elements
    that are not finite on both sides and equal there, and that the measures leave out.
    """

    agreement: Agreement
    l2: float | None
    relative: float | None
    cosine: float | None
    max_abs: float | None
    non_finite: int


@dataclass(slots=True)
class _Sums:
    """Float64 sums over the blocks so far; `same` and `rounded` hold while no element differs."""

    squares_a: float = 0.0
    squares_b: float = 0.0
    product: float = 0.0
    squares_difference: float = 0.0
    largest: float = 0.0
    non_finite: int = 0
    same: bool = True
    rounded: bool = True

    def add(self, squares_a: float, squares_b: float, product: float) -> None:
        """Add what the cosine consists of."""
        self.squares_a += squares_a
        self.squares_b += squares_b
        self.product += product


@dataclass(frozen=True, slots=True)
class Moments:
    """What identifies a tensor among others of its shape: mean, L2 norm, largest magnitude."""

    mean: float
    norm: float
    largest: float


def distance(a: torch.Tensor, b: torch.Tensor) -> Distance:
    """Compare two tensors of one shape; `rounding` means equal once both have the coarser dtype."""
    sums = _Sums()
    coarser = _coarser(a.dtype, b.dtype)
    for left, right in zip(_blocks(a), _blocks(b), strict=True):
        _add(sums, left, right, coarser)
    return _result(sums)


def moments(tensor: torch.Tensor) -> Moments:
    """Mean, norm and largest magnitude in float64."""
    total = squares = largest = 0.0
    for block in _blocks(tensor):
        values = block.double()
        total += float(values.sum())
        squares += float(values.square().sum())
        largest = max(largest, float(values.abs().max()))
    return Moments(total / max(tensor.numel(), 1), math.sqrt(squares), largest)


def _blocks(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    flat = tensor.reshape(-1)
    for start in range(0, flat.numel(), BLOCK):
        yield flat[start : start + BLOCK]


def _coarser(a: torch.dtype, b: torch.dtype) -> torch.dtype | None:
    if a == b or a not in _MANTISSA_ORDER or b not in _MANTISSA_ORDER:
        return None
    return max(a, b, key=_MANTISSA_ORDER.index)


def _add(sums: _Sums, left: torch.Tensor, right: torch.Tensor, coarser: torch.dtype | None) -> None:
    """Add one block; almost all blocks are equal, or finite throughout."""
    a = left.double()
    squares_a = float(a.dot(a))
    if math.isfinite(squares_a) and left.dtype == right.dtype and torch.equal(left, right):
        sums.add(squares_a, squares_a, squares_a)
        return
    b = right.double()
    difference = a - b
    squares_b, squared = float(b.dot(b)), float(difference.dot(difference))
    if not math.isfinite(squares_a + squares_b + squared):
        a, b = _finite_elements(sums, a, b)
        difference = a - b
        squares_a, squares_b, squared = (float(v.dot(v)) for v in (a, b, difference))
    sums.add(squares_a, squares_b, float(a.dot(b)))
    if squared == 0 and torch.equal(a, b):
        return
    sums.same = False
    sums.squares_difference += squared
    sums.largest = _larger(sums.largest, max(map(abs, map(float, difference.aminmax()))))
    if sums.rounded:
        sums.rounded = coarser is not None and torch.equal(left.to(coarser), right.to(coarser))


def _finite_elements(
    sums: _Sums, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Both with zeros where neither is finite and they are equal."""
    left_out = ((a == b) | (a.isnan() & b.isnan())) & ~a.isfinite()
    sums.non_finite += int(left_out.sum())
    return a.masked_fill(left_out, 0), b.masked_fill(left_out, 0)


def _larger(known: float, new: float) -> float:
    return math.nan if math.isnan(known) or math.isnan(new) else max(known, new)


def _result(sums: _Sums) -> Distance:
    agreement: Agreement = "equal" if sums.same else "rounding" if sums.rounded else "differs"
    l2 = math.sqrt(sums.squares_difference)
    norm_a, norm_b = math.sqrt(sums.squares_a), math.sqrt(sums.squares_b)
    relative = 0.0 if l2 == 0 else l2 / norm_b if norm_b else math.inf
    return Distance(
        agreement,
        _finite(l2),
        _finite(relative),
        _cosine(sums.product, norm_a, norm_b, same=sums.same),
        _finite(sums.largest),
        sums.non_finite,
    )


def _cosine(product: float, norm_a: float, norm_b: float, *, same: bool) -> float | None:
    if same:
        return 1.0
    if not norm_a or not norm_b:
        return 0.0
    cosine = product / (norm_a * norm_b)
    return min(1.0, max(-1.0, cosine)) if math.isfinite(cosine) else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
