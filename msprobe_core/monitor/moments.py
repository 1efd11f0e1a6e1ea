"""Moments of tensors: numbers that add up over micro-batches, shards and ranks, and what they say.

One row a measurement, float64; the columns are MOMENTS.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from msprobe_core.format.series import STATISTICS

MOMENTS = ("min", "max", "sum", "squares", "nans", "infs", "zeros", "size")
LOW, HIGH, SUM, SQUARES, NANS, INFS, ZEROS, SIZE = range(len(MOMENTS))
Rows = NDArray[np.float64]
Places = NDArray[np.intp]

_NORM, _MEAN = STATISTICS.index("norm"), STATISTICS.index("mean")
_EXTREMES_ONLY = 1e-30
"""Float32 squares below this have lost digits, or all of them: see `statistics`."""


def empty_rows(count: int) -> Rows:
    """Rows of nothing: added to others they change nothing."""
    rows = np.zeros((count, len(MOMENTS)))
    rows[:, LOW], rows[:, HIGH] = np.inf, -np.inf
    return rows


def add_up(rows: Rows, places: Places, count: int) -> Rows:
    """The sum of the rows of each place, 0 to count - 1; rows of nothing where there are none."""
    total = empty_rows(count)
    if len(places):
        with np.errstate(invalid="ignore"):  # inf - inf is NaN, as in one sum over all of them
            np.minimum.at(total[:, LOW], places, rows[:, LOW])
            np.maximum.at(total[:, HIGH], places, rows[:, HIGH])
            np.add.at(total[:, SUM:], places, rows[:, SUM:])
    return total


def statistics(rows: Rows) -> NDArray[np.float32]:
    """[statistic][row] as they are stored; size 0 where nothing was measured.

    Squares of float32 overflow above 1.8e19 and vanish below 1e-22. There the norm is the largest
    magnitude, which is less than the norm by a factor of sqrt(size) at most, so that a finite
    tensor never counts as infinite nor a tiny one as zero.
    """
    found = np.full((len(STATISTICS), len(rows)), np.nan)
    with np.errstate(all="ignore"):
        found[_NORM] = _norms(rows)
        found[_MEAN] = rows[:, SUM] / rows[:, SIZE]
    for name, column in (("min", LOW), ("max", HIGH), ("zeros", ZEROS), ("size", SIZE)):
        found[STATISTICS.index(name)] = rows[:, column]
    there = rows[:, SIZE] > 0
    nans = np.isnan(rows[:, [LOW, HIGH, SUM]]).any(1) & ~np.isinf(rows[:, HIGH])
    infs = np.isinf(rows[:, [LOW, HIGH]]).any(1)
    # Where nobody counted, 1 says that there are some.
    found[STATISTICS.index("nans")] = np.maximum(rows[:, NANS], nans & there)
    found[STATISTICS.index("infs")] = np.maximum(rows[:, INFS], infs & there)
    found[:, ~there] = np.nan
    found[STATISTICS.index("size"), ~there] = 0
    with np.errstate(over="ignore"):  # what float32 does not hold is infinite
        return found.astype(np.float32)


def values_as_norms(table: NDArray[np.float32], scalars: Places) -> None:
    """Give scalars their value as norm: a loss or a reward has a sign, which no norm has."""
    table[_NORM, scalars] = table[_MEAN, scalars]


def scalar_row(value: float) -> Rows:
    """One row of a number; its norm is the magnitude until `values_as_norms`."""
    row = empty_rows(1)
    row[0, [LOW, HIGH, SUM]], row[0, SQUARES], row[0, SIZE] = value, value * value, 1
    return row


def _norms(rows: Rows) -> NDArray[np.float64]:
    squares = rows[:, SQUARES]
    extreme = np.maximum(np.abs(rows[:, LOW]), np.abs(rows[:, HIGH]))
    norms = np.sqrt(squares)
    lost = np.isfinite(extreme) & (~np.isfinite(squares) | (squares < _EXTREMES_ONLY))
    result: NDArray[np.float64] = np.where(
        lost, np.maximum(extreme, np.nan_to_num(norms, nan=0.0, posinf=0.0)), norms
    )
    return result
