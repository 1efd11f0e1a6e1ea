"""Measures of two tensors element by element, one pass over the data in blocks.

All numbers and sums are float64; what a block needs stays in the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, inf, isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.dump.tensor_data import TensorData

# Below the length from which BLAS starts threads of its own, which would fight over the cores.
BLOCK = 1 << 13
# Read at once; a system call per block would cost as much as the arithmetic.
CHUNK = 1 << 17
Floats = NDArray[np.float64]
# Integers up to here are float64s of their own.
_WHOLE = 2**53
# A sum of squares below this has lost digits to the end of the range of float64.
_FAINT = 2.0**-900
_LARGEST_EXPONENT = 1024


@dataclass(frozen=True, slots=True)
class TensorMeasures:
    """The measures that users of tensor dumps know, and the relative error of the score.

    cosine; euc_dist = ‖p−b‖₂; max_abs_err = max|p−b|; max_rel_err = max|p−b|/|b|; the shares of
    elements with a relative error below 0.1 % and 0.5 %; relative_error = ‖p−b‖₂/‖b‖₂.
    """

    cosine: float
    euc_dist: float
    max_abs_err: float
    max_rel_err: float
    one_thousandth: float
    five_thousandths: float
    relative_error: float


@dataclass(slots=True)
class BlockSums:
    """What the measures of two tensors follow from, gathered block by block.

    `difference`, `problem` and `benchmark` are sums of squares; `one_sided` counts elements that
    are not finite on one side, or not alike; `set_aside` those that are not finite and agree.
    """

    count: int = 0
    difference: float = 0.0
    problem: float = 0.0
    benchmark: float = 0.0
    product: float = 0.0
    max_abs: float = 0.0
    max_rel: float = 0.0
    within_1: int = 0
    within_5: int = 0
    one_sided: int = 0
    set_aside: int = 0

    def add(self, ours: Floats, theirs: Floats, exact: Floats | None = None) -> bool:
        """Add two flat float64 arrays of one length; whether no element differs.

        They are walked in short blocks, which stay in the cache. `exact` are their differences
        where float64 cannot tell them; such arrays are finite.
        """
        agree = True
        for place in range(0, len(ours), BLOCK):
            part = slice(place, place + BLOCK)
            known = None if exact is None else exact[part]
            agree &= _add_block(self, ours[part], theirs[part], known)
        return agree

    def add_equal(self, squares: float) -> None:
        """Add a block that is the same and finite on both sides, by its sum of squares."""
        self.problem += squares
        self.benchmark += squares
        self.product += squares

    @property
    def is_equal(self) -> bool:
        """Whether no element differs so far."""
        return self.max_abs == 0 and not self.one_sided

    @property
    def is_in_range(self) -> bool:
        """Whether no sum of squares is too large for a float64, and none vanished in it."""
        largest = self.problem + self.benchmark + self.difference + self.max_abs
        vanished = self.max_abs > 0 and self.difference < _FAINT
        return isfinite(largest) and not vanished


def compare_tensors(problem: TensorData, benchmark: TensorData) -> TensorMeasures | None:
    """Measure two tensors of the same length; None when they are empty or of another length.

    NaN and Inf at the same positions agree; on one side only they make every error infinite.
    """
    if problem.size != benchmark.size or problem.size == 0:
        return None
    with np.errstate(all="ignore"):
        sums = _summed(problem, benchmark, 0)
        if not sums.is_in_range:
            exponent = max(_exponent(problem), _exponent(benchmark))
            return _finish(_summed(problem, benchmark, exponent), exponent)
    return _finish(sums)


def _summed(problem: TensorData, benchmark: TensorData, exponent: int) -> BlockSums:
    """The sums of two tensors in units of 2^exponent."""
    sums = BlockSums(count=problem.size)
    for start in range(0, problem.size, CHUNK):
        stop = min(start + CHUNK, problem.size)
        ours, theirs = problem.block(start, stop), benchmark.block(start, stop)
        exact = whole_differences(ours, theirs)
        ours, theirs = (side.astype(np.float64, copy=False) for side in (ours, theirs))
        if exponent:
            ours, theirs = np.ldexp(ours, -exponent), np.ldexp(theirs, -exponent)
        sums.add(ours, theirs, exact)
    return sums


def _exponent(data: TensorData) -> int:
    """The exponent of the largest finite magnitude, 0 of none."""
    largest = 0.0
    for start in range(0, data.size, CHUNK):
        block = np.abs(data.block(start, min(start + CHUNK, data.size)).astype(np.float64))
        largest = max(largest, float(block.max(initial=0.0, where=np.isfinite(block))))
    return frexp(largest)[1] if largest else -_LARGEST_EXPONENT


def whole_differences(ours: NDArray[Any], theirs: NDArray[Any]) -> Floats | None:
    """The differences of integers that float64 cannot tell apart; None where it can."""
    if not (_may_be_wide(ours) and _may_be_wide(theirs)) or np.array_equal(ours, theirs):
        return None
    if max(_reach(ours), _reach(theirs)) <= _WHOLE:
        return None
    return np.asarray((ours.astype(object) - theirs.astype(object)).astype(np.float64))


def _may_be_wide(block: NDArray[Any]) -> bool:
    return block.dtype.kind in "iu" and block.dtype.itemsize == 8


def _reach(block: NDArray[Any]) -> int:
    return max(int(block.max()), -int(block.min()))


def _add_block(
    sums: BlockSums, ours: Floats, theirs: Floats, difference: Floats | None = None
) -> bool:
    before = sums.one_sided
    own, other = float(np.dot(ours, ours)), float(np.dot(theirs, theirs))
    if not isfinite(own + other):
        ours, theirs = _set_aside_nonfinite(sums, ours, theirs)
        own, other = float(np.dot(ours, ours)), float(np.dot(theirs, theirs))
    sums.problem += own
    sums.benchmark += other
    if difference is None:
        difference = np.subtract(ours, theirs)
    squared = float(np.dot(difference, difference))
    largest = max(float(difference.max(initial=0)), -float(difference.min(initial=0)))
    if largest == 0.0:
        sums.product += own
        sums.within_1 += difference.size
        sums.within_5 += difference.size
        return sums.one_sided == before
    sums.product += float(np.dot(ours, theirs))
    sums.difference += squared
    sums.max_abs = max(sums.max_abs, largest)
    _add_relative(sums, np.divide(difference, theirs, out=difference))
    return False


def _add_relative(sums: BlockSums, relative: Floats) -> None:
    np.abs(relative, out=relative)
    # 0 against 0 is NaN here: no error, left out of the maximum and below every bound.
    largest = float(np.fmax.reduce(relative, initial=0.0))
    sums.max_rel = max(sums.max_rel, largest)
    sums.within_1 += relative.size
    sums.within_5 += relative.size
    if largest >= 1e-3:
        sums.within_1 -= int(np.count_nonzero(relative >= 1e-3))
    if largest >= 5e-3:
        sums.within_5 -= int(np.count_nonzero(relative >= 5e-3))


def _set_aside_nonfinite(sums: BlockSums, ours: Floats, theirs: Floats) -> tuple[Floats, Floats]:
    bad = ~(np.isfinite(ours) & np.isfinite(theirs))
    agree = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    sums.one_sided += int(np.count_nonzero(bad & ~agree))
    aside = int(np.count_nonzero(bad & agree))
    sums.set_aside += aside
    sums.within_1 += aside
    sums.within_5 += aside
    return ours[~bad], theirs[~bad]


def _finish(sums: BlockSums, exponent: int = 0) -> TensorMeasures:
    """The measures that sums in units of 2^exponent tell."""
    # The largest difference alone is at least as much, where its square is nothing.
    distance, scale = max(sqrt(sums.difference), sums.max_abs), sqrt(sums.benchmark)
    error = _ratio(distance, scale)
    if sums.one_sided:
        distance = sums.max_abs = sums.max_rel = error = inf
    magnitude = sqrt(sums.problem) * scale
    cosine = float(sums.is_equal) if sums.is_equal or not magnitude else sums.product / magnitude
    return TensorMeasures(
        cosine=max(-1.0, min(1.0, cosine)) if isfinite(cosine) else 0.0,
        euc_dist=float(np.ldexp(distance, exponent)),
        max_abs_err=float(np.ldexp(sums.max_abs, exponent)),
        max_rel_err=sums.max_rel,
        one_thousandth=sums.within_1 / sums.count,
        five_thousandths=sums.within_5 / sums.count,
        relative_error=error,
    )


def _ratio(difference: float, scale: float) -> float:
    if difference == 0:
        return 0.0
    return difference / scale if scale else inf
