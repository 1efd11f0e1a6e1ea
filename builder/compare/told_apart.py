"""By what two values are told apart: a statistic, the elements, or these by their sketches."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.infinite_marks import marks_apart
from builder.compare.statistics import Statistics, error_parts
from builder.reasons import (
    ElementsApart,
    ElementsCount,
    ElementsDiffer,
    ErrorOf,
    ExtremesAgree,
    Reason,
    StatisticsAgree,
)
from msprobe_core.format import canonical_dtype, is_integer_dtype

_ROWS: tuple[ErrorOf, ...] = ("max", "min", "mean", "norm")
# Which is named where several are as large: of a scaled tensor all of them are, but for rounding.
_FIRST: tuple[ErrorOf, ...] = ("norm", "mean", "min", "max", "sketch", "infinities")
_ALIKE = 1e-5
_PARALLEL = 0.05  # a tolerance above which rounding could make a factor
_NEAR_ONE = 0.05
_ONE_LINE = 1e-6  # elements are then within 0.0015 of the whole of one line through zero
_STORED = 1e-5  # projections are stored as float32, and are sums of many terms


def named_part(parts: Mapping[ErrorOf, float], error: float | None) -> ErrorOf | None:
    """Which part an error is; None where it is of something else."""
    if not isinstance(error, int | float):
        return None
    alike = (
        name
        for name in _FIRST
        if name in parts and math.isclose(parts[name], error, rel_tol=_ALIKE)
    )
    return next(alike, None)


def statistics_parts(problem: Statistics, benchmark: Statistics) -> list[dict[ErrorOf, float]]:
    """The parts of each pair's error that its statistics are; −1 where one does not count."""
    columns = error_parts(problem, benchmark).T.tolist()
    return [dict(zip(_ROWS, column, strict=True)) for column in columns]


def told_by(comparison: Comparison, row: int) -> ErrorOf | None:
    """Of what the error of a row is; None where it is of a dtype or a checksum."""
    if row in comparison.elements.tensors:
        return "elements"
    (parts,) = statistics_parts(*_sides(comparison.statistics, row))
    if comparison.elements.estimates is not None:
        parts["sketch"] = float(comparison.elements.estimates.error[row])
    ours, theirs = comparison.records
    marks = marks_apart(([ours[row]], [theirs[row]]), _sides(comparison.statistics, row))
    if marks is not None:
        parts["infinities"] = float(marks[0][0] / marks[1][0])
    return named_part(parts, float(comparison.scores.error[row]))


def common_factor(comparison: Comparison, row: int) -> float | None:
    """By what all elements of the problem's value are multiplied; None where no one number tells.

    Nor does one where it is so near to one that the share by which the value is off says more, or
    where nothing but zeros is left.
    """
    whole = comparison.elements.tensors.get(row)
    if whole is not None:
        factor = _of_one_line(comparison, row, whole.cosine)
    else:
        factor = _of_parallel_sketches(comparison, row)
    return None if not factor or abs(factor - 1.0) <= _NEAR_ONE else factor


def _of_one_line(comparison: Comparison, row: int, cosine: float) -> float | None:
    """The factor between tensors that were dumped whole, whose cosine tells that there is one."""
    ours, theirs = (float(side.table[3][row]) for side in comparison.statistics)
    if theirs <= 0 or not math.isfinite(ours) or 1.0 - abs(cosine) > _ONE_LINE:
        return None
    return math.copysign(ours / theirs, cosine)


def _of_parallel_sketches(comparison: Comparison, row: int) -> float | None:
    """The factor between two sketches.

    Of parallel tensors the projections are parallel; those of others come that near, as shares of
    the whole, by the tolerance to the power of seven.
    """
    places = comparison.pairs.problem, comparison.pairs.benchmark
    (ours,), (theirs,) = (
        side.take_sketches(of_side[row : row + 1])
        for side, of_side in zip(comparison.columns, places, strict=True)
    )
    length, tolerance = float(theirs @ theirs), float(comparison.scores.limit[row])
    if not (np.isfinite(ours).all() and length > 0 and tolerance < _PARALLEL):
        return None
    factor = float(ours @ theirs) / length
    rest = float(np.linalg.norm(ours - factor * theirs))
    return factor if rest <= max(tolerance, _STORED) * float(np.linalg.norm(ours)) else None


def told_by_elements(comparison: Comparison, row: int) -> Reason | None:
    """That elements alone show a difference, in words; None where nothing can be said of it.

    The error is the one that tables have. That of integers, which are names or marks, is no
    distance: of marks (bool) that were dumped whole those that differ are counted.
    """
    key, record = comparison.keys[row], comparison.records[0][row]
    ours, theirs = _sides(comparison.statistics, row)
    agree = bool(ours.recorded.any()) and np.array_equal(ours.recorded, theirs.recorded)
    agree &= not (ours.nonfinite.any() or theirs.nonfinite.any())
    if is_integer_dtype(record.dtype or ""):
        counted = _differing_marks(comparison, row)
        if counted is not None:
            return ElementsCount(key, *counted)
        # Of marks the dumper has the largest and the smallest alone.
        note = StatisticsAgree if ours.recorded[2:].any() else ExtremesAgree
        return note(key) if agree else None
    error = float(comparison.scores.error[row])
    if not math.isfinite(error):
        return None
    differs = ElementsDiffer if agree and ours.recorded.all() else ElementsApart
    return differs(key, error, told_by(comparison, row))


def _differing_marks(comparison: Comparison, row: int) -> tuple[int, int] | None:
    """How many elements of a mask differ, and how many there are; None where it was not dumped."""
    record, measures = comparison.records[0][row], comparison.elements.tensors.get(row)
    if measures is None or canonical_dtype(record.dtype or "") != "bool":
        return None
    size = math.prod(record.shape or ())
    return round((1 - measures.one_thousandth) * size), size


def _sides(sides: tuple[Statistics, Statistics], row: int) -> tuple[Statistics, Statistics]:
    ours, theirs = (
        Statistics(
            side.table[:, row : row + 1], side.recorded[:, row : row + 1], side.size[row:][:1]
        )
        for side in sides
    )
    return ours, theirs
