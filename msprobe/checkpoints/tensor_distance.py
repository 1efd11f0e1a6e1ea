"""How far apart two tensors are, computed in blocks: memory stays that of the tensors alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from builder.compare.tensors import BlockSums, whole_differences

BLOCK = 1 << 16  # elements that are float64 at a time
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


@dataclass(frozen=True, slots=True)
class Moments:
    """What identifies a tensor among others of its shape: mean, L2 norm, largest magnitude."""

    mean: float
    norm: float
    largest: float


def distance(a: torch.Tensor, b: torch.Tensor) -> Distance:
    """Compare two tensors of one shape; `rounding` means equal once both have the coarser dtype.

    A complex number is two numbers. What is finite on one side alone is no rounding, though the
    coarser dtype has no other number for it.
    """
    coarser = _coarser(a.dtype, b.dtype)
    if a.is_complex() or b.is_complex():
        a, b = _as_pairs(a), _as_pairs(b)
    with np.errstate(all="ignore"):
        sums, rounded = _summed(a, b, coarser, 0)
        exponent = 0
        if not sums.is_in_range:
            exponent = max(_exponent(a), _exponent(b))
            sums, rounded = _summed(a, b, coarser, exponent)
    return _result(sums, exponent, rounded=rounded and not sums.one_sided)


def _summed(
    a: torch.Tensor, b: torch.Tensor, coarser: torch.dtype | None, exponent: int
) -> tuple[BlockSums, bool]:
    """The sums in units of 2^exponent, and whether all is equal in the coarser dtype."""
    sums, rounded = BlockSums(), True
    for left, right in zip(_blocks(a), _blocks(b), strict=True):
        if not _add(sums, left, right, exponent) and rounded:
            rounded = coarser is not None and torch.equal(left.to(coarser), right.to(coarser))
    return sums, rounded


def _as_pairs(tensor: torch.Tensor) -> torch.Tensor:
    whole = tensor if tensor.is_complex() else tensor.to(torch.complex128)
    return torch.view_as_real(whole.resolve_conj())


def _exponent(tensor: torch.Tensor) -> int:
    """The exponent of the largest finite magnitude."""
    largest = 0.0
    for block in _blocks(tensor):
        values = np.abs(block.double().numpy())
        largest = max(largest, float(values.max(initial=0.0, where=np.isfinite(values))))
    return math.frexp(largest)[1]


def moments(tensor: torch.Tensor) -> Moments:
    """Mean, norm and largest magnitude in float64; of complex numbers those of both parts."""
    total = squares = largest = 0.0
    numbers = _as_pairs(tensor) if tensor.is_complex() else tensor
    for block in _blocks(numbers):
        values = block.double()
        total += float(values.sum())
        squares += float(values.square().sum())
        largest = max(largest, float(values.abs().max()))
    return Moments(total / max(numbers.numel(), 1), math.sqrt(squares), largest)


def _blocks(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    flat = tensor.reshape(-1)
    for start in range(0, flat.numel(), BLOCK):
        yield flat[start : start + BLOCK]


def _coarser(a: torch.dtype, b: torch.dtype) -> torch.dtype | None:
    if a == b or a not in _MANTISSA_ORDER or b not in _MANTISSA_ORDER:
        return None
    return max(a, b, key=_MANTISSA_ORDER.index)


def _add(sums: BlockSums, left: torch.Tensor, right: torch.Tensor, exponent: int) -> bool:
    """Add one block and tell whether it agrees; almost all blocks do, or are finite throughout."""
    ours = left.double().numpy()
    if left.dtype == right.dtype and torch.equal(left, right) and not exponent:
        squares = float(ours.dot(ours))
        if math.isfinite(squares):
            sums.add_equal(squares)
            return True
    exact = None
    if not (left.is_floating_point() or right.is_floating_point()):
        exact = whole_differences(left.numpy(), right.numpy())
    theirs = right.double().numpy()
    if exponent:
        ours, theirs = np.ldexp(ours, -exponent), np.ldexp(theirs, -exponent)
    return sums.add(ours, theirs, exact)


def _result(sums: BlockSums, exponent: int, *, rounded: bool) -> Distance:
    if sums.is_equal:
        return Distance("equal", 0.0, 0.0, 1.0, 0.0, sums.set_aside)
    agreement: Agreement = "rounding" if rounded else "differs"
    if sums.one_sided:
        return Distance(agreement, None, None, None, None, sums.set_aside)
    l2, norm = math.sqrt(sums.difference), math.sqrt(sums.benchmark)
    relative = 0.0 if l2 == 0 else l2 / norm if norm else math.inf
    cosine = _cosine(sums.product, math.sqrt(sums.problem), norm)
    apart = (_scaled(l2, exponent), _finite(relative), cosine, _scaled(sums.max_abs, exponent))
    return Distance(agreement, *apart, sums.set_aside)


def _scaled(value: float, exponent: int) -> float | None:
    try:
        return _finite(math.ldexp(value, exponent))
    except OverflowError:
        return None


def _cosine(product: float, norm_a: float, norm_b: float) -> float | None:
    if not norm_a or not norm_b:
        return 0.0
    cosine = product / (norm_a * norm_b)
    return min(1.0, max(-1.0, cosine)) if math.isfinite(cosine) else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
