"""Draws two dumped tensors as numbers: histograms of both, of their error, and where it sits.

Everything runs over blocks, so memory beyond the tensors themselves stays small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from builder.dump.tensor_data import TensorData
from builder.results.records import Count, Measure
from builder.results.value_measures import measure_of

BLOCK = 1 << 18
_ONE_PLACE = 1.25  # times: less is narrower than a letter of a decade's width
_BESIDE = 3.0
Floats = NDArray[np.float64]


class Histogram(msgspec.Struct, frozen=True):
    """Counts between edges; zeros (of errors only) and what is not finite fit no bin.

    `whole`: each bin is one whole number, in its middle. `least` and `most` are the smallest and
    largest of what is counted; null where nothing is.
    """

    scale: Literal["linear", "log"]
    edges: list[float]
    counts: list[Count]
    zeros: Count
    nonfinite: Count
    least: float | None
    most: float | None
    whole: bool = False


class Heat(msgspec.Struct, frozen=True):
    """The largest error in each cell of a tensor seen as a matrix.

    Its columns are the last dimension of `shape`, its rows all others in their order. `at` is the
    index of the first element with the largest error; null where nothing differs.
    """

    shape: list[Count]
    rows: Count
    columns: Count
    at: list[Count] | None
    cells: list[list[Measure]]
    largest: Measure


class Picture(msgspec.Struct, frozen=True):
    """What there is to see of a value; parts are null where a side is missing."""

    problem: Histogram | None
    benchmark: Histogram | None
    error: Histogram | None
    heat: Heat | None


def draw(
    problem: TensorData | None,
    benchmark: TensorData | None,
    shape: list[int],
    bins: int,
    cells: int,
) -> Picture:
    """The picture of one value; the error only where both sides have as many elements."""
    sides = [side for side in (problem, benchmark) if side is not None and side.size]
    edges, whole = _shared_edges(sides, bins)
    error, heat = None, None
    if problem is not None and benchmark is not None and problem.size == benchmark.size > 0:
        error = _error_histogram(problem, benchmark, bins)
        heat = _heat(problem, benchmark, shape, cells)
    return Picture(
        problem=_histogram(problem, edges, whole) if problem is not None else None,
        benchmark=_histogram(benchmark, edges, whole) if benchmark is not None else None,
        error=error,
        heat=heat,
    )


def _blocks(flat: TensorData) -> Iterator[Floats]:
    for start in range(0, flat.size, BLOCK):
        yield flat.block(start, min(start + BLOCK, flat.size)).astype(np.float64)


def _errors(problem: TensorData, benchmark: TensorData) -> Iterator[Floats]:
    """|problem − benchmark| in blocks: equal infinities and NaN on both sides are no error."""
    for ours, theirs in zip(_blocks(problem), _blocks(benchmark), strict=True):
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        with np.errstate(all="ignore"):
            error = np.abs(ours - theirs)
        error[np.isnan(error)] = np.inf
        error[same] = 0.0
        yield error


def _are_whole(sides: Iterable[TensorData]) -> bool:
    """Whether all numbers are marks or integers."""
    return all(side.format.decode is None and side.format.part.kind in "biu" for side in sides)


def _whole_edges(low: float, high: float, bins: int) -> Floats | None:
    """A bin for each whole number, which stands in its middle; None where there are too many."""
    return np.arange(low - 0.5, high + 1.0) if high - low < bins else None


def _shared_edges(sides: list[TensorData], bins: int) -> tuple[Floats, bool]:
    low, high = np.inf, -np.inf
    for side in sides:
        for block in _blocks(side):
            finite = block[np.isfinite(block)]
            low = min(low, float(finite.min(initial=np.inf)))
            high = max(high, float(finite.max(initial=-np.inf)))
    if low > high:
        low, high = 0.0, 1.0
    elif _are_whole(sides) and (whole := _whole_edges(low, high, bins)) is not None:
        return whole, True
    if low == high:
        margin = abs(low) / 2 or 0.5
        low, high = low - margin, high + margin
    # The difference of two huge numbers may be infinite, their halves are not.
    steps = np.linspace(0.0, 1.0, bins + 1)
    return _rising(low * (1.0 - steps) + high * steps, low, high), False


def _histogram(flat: TensorData, edges: Floats, whole: bool) -> Histogram:
    counts = np.zeros(len(edges) - 1, dtype=np.int64)
    nonfinite = 0
    low, high = np.inf, -np.inf
    for block in _blocks(flat):
        finite = block[np.isfinite(block)]
        nonfinite += block.size - finite.size
        low = min(low, float(finite.min(initial=np.inf)))
        high = max(high, float(finite.max(initial=-np.inf)))
        counts += _counted(finite, edges)
    listed, (least, most) = (edges.tolist(), counts.tolist()), _range(low, high)
    return Histogram("linear", *listed, 0, nonfinite, least, most, whole)


def _error_histogram(problem: TensorData, benchmark: TensorData, bins: int) -> Histogram:
    low, high = np.inf, 0.0
    for error in _errors(problem, benchmark):
        positive = error[np.isfinite(error) & (error > 0)]
        low = min(low, float(positive.min(initial=np.inf)))
        high = max(high, float(positive.max(initial=0.0)))
    whole = _whole_edges(1.0, high, bins) if _are_whole((problem, benchmark)) and high else None
    edges = whole if whole is not None else _log_edges(low, high, bins)
    counts, zeros, infinite = np.zeros(len(edges) - 1, dtype=np.int64), 0, 0
    for error in _errors(problem, benchmark):
        zeros += int(np.count_nonzero(error == 0))
        infinite += int(np.count_nonzero(np.isinf(error)))
        counts += _counted(error[np.isfinite(error) & (error > 0)], edges)
    scale: Literal["linear", "log"] = "log" if whole is None else "linear"
    listed, (least, most) = (edges.tolist(), counts.tolist()), _range(low, high)
    return Histogram(scale, *listed, zeros, infinite, least, most, whole is not None)


def _range(low: float, high: float) -> tuple[float, float] | tuple[None, None]:
    """The smallest and largest number; none where none was met."""
    return (low, high) if low <= high else (None, None)


def _log_edges(low: float, high: float, bins: int) -> Floats:
    if low > high:
        low, high = 1e-12, 1.0
    if high < low * _ONE_PLACE:
        # What lies at one place of the axis is a bar there, not a line too thin to be seen.
        low, high = low / _BESIDE, min(high * _BESIDE, np.finfo(np.float64).max)
    return _rising(np.exp(np.linspace(np.log(low), np.log(high), bins + 1)), low, high)


def _rising(edges: Floats, low: float, high: float) -> Floats:
    # Rounding must not push the extremes out of the last bins, nor an edge past the next.
    edges[0], edges[-1] = low, high
    return np.clip(np.maximum.accumulate(edges), low, high)


def _counted(numbers: Floats, edges: Floats) -> NDArray[np.int64]:
    place = np.searchsorted(edges, numbers, side="right") - 1
    bins = len(edges) - 1
    return np.bincount(np.clip(place, 0, bins - 1), minlength=bins)


def _heat(problem: TensorData, benchmark: TensorData, shape: list[int], cells: int) -> Heat:
    rows = prod(shape[:-1]) or 1
    columns = max(1, problem.size // rows)
    high, wide = min(rows, cells), min(columns, cells)
    worst = np.zeros(high * wide)
    start, largest, at = 0, 0.0, -1
    for error in _errors(problem, benchmark):
        first = int(error.argmax())
        if error[first] > largest:
            largest, at = float(error[first]), start + first
        place = np.arange(start, start + error.size)
        row = np.minimum(place // columns * high // rows, high - 1)
        np.maximum.at(worst, row * wide + place % columns * wide // columns, error)
        start += error.size
    drawn = [[measure_of(cell) for cell in row] for row in worst.reshape(high, wide).tolist()]
    whole = shape if prod(shape) == problem.size else [problem.size]
    index = [int(each) for each in np.unravel_index(at, whole)] if at >= 0 else None
    return Heat(whole, rows, columns, index, drawn, measure_of(largest))
