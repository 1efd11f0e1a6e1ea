"""The statistics of values as arrays, and the relative error between two sides of them.

All arrays are float64 and one element per value; NaN in `missing` places means "not recorded".
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, isnan, prod

import numpy as np
from numpy.typing import NDArray

from builder.compare.mask_constants import are_smallest, mask_ends
from builder.dump.statistic_cells import number_of, numbers_of, scaled_difference
from builder.dump.values import Record

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_FLOAT32 = float(np.finfo(np.float32).max)
NAMES = ("Max", "Min", "Mean", "Norm")


@dataclass(slots=True)
class Statistics:
    """Max, Min, Mean, Norm (rows of `table`), which of them are recorded, and element counts."""

    table: Floats
    recorded: Bools
    size: Floats

    @property
    def nonfinite(self) -> Bools:
        """Whether a recorded statistic of the value is NaN or Inf, and not by its sum alone."""
        bad = self.recorded & ~np.isfinite(self.table)
        return np.asarray((bad & ~self.overflowed).any(axis=0))

    @property
    def overflowed(self) -> Bools:
        """Which means and norms are infinite because float32 cannot hold the sum behind them.

        The elements are finite, as a mask of -3.4e38 is: their extremes tell.
        """
        bad = self.recorded & ~np.isfinite(self.table)
        overflows = np.zeros_like(bad)
        if not bad[2:].any():
            return overflows
        largest = np.abs(self.table[:2]).max(axis=0)
        finite = self.recorded[:2].all(axis=0) & ~bad[:2].any(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            overflows[2] = bad[2] & finite & (largest * self.size > _FLOAT32)
            overflows[3] = bad[3] & finite & (largest**2 * self.size > _FLOAT32)
        return overflows

    def take(self, indices: NDArray[np.int64]) -> Statistics:
        """The statistics at some indices; a negative one stands for no value, nothing recorded."""
        if np.array_equal(indices, np.arange(len(self.size))):
            return self
        absent = indices < 0
        if not absent.any():
            return Statistics(self.table[:, indices], self.recorded[:, indices], self.size[indices])
        if absent.all():
            none = np.full((4, len(indices)), np.nan)
            return Statistics(none, np.zeros(none.shape, dtype=bool), np.ones(len(indices)))
        taken = np.where(absent, 0, indices)
        table, recorded, size = self.table[:, taken], self.recorded[:, taken], self.size[taken]
        table[:, absent], recorded[:, absent], size[absent] = np.nan, False, 1.0
        return Statistics(table, recorded, size)


def statistics_of(records: list[Record], sizes: Floats | None = None) -> Statistics:
    """Gather the statistics of values; text such as "nan" or "-inf" counts as the number.

    `sizes` are the element counts where they are known already.
    """
    # One pass over the records: fetching them from memory costs more than the copying.
    cells = [cell for r in records for cell in (r.Max, r.Min, r.Mean, r.Norm)]
    flat = numbers_of(cells)
    recorded = np.ones(len(flat), dtype=bool)
    for index in np.flatnonzero(np.isnan(flat)).tolist():
        recorded[index] = cells[index] is not None
    if sizes is None:
        sizes = np.array([element_count(record.shape) for record in records], dtype=np.float64)
    table = np.ascontiguousarray(flat.reshape(-1, 4).T)
    np.abs(table[3], out=table[3])  # mindstudio-probe writes a single number itself as its norm
    return Statistics(
        table,
        np.ascontiguousarray(recorded.reshape(-1, 4).T),
        sizes,
    )


def element_count(shape: tuple[int, ...] | None) -> int:
    """How many elements a shape has; 1 where there is none."""
    return prod(shape) if shape is not None else 1


def relative_error(problem: Statistics, benchmark: Statistics) -> Floats:
    """The relative error e of each pair; NaN where the sides share no statistic.

    The largest of |ΔNorm|/Norm, |ΔMean|/rms, |ΔMax|/absmax and |ΔMin|/absmax of the benchmark
    side, rms = Norm/√n, absmax = max(|Max|, |Min|): each is scaled by the tensor as a whole, so a
    mean near zero does not explode. NaN or Inf on both sides agrees, on one side is infinite.
    """
    worst = error_parts(problem, benchmark).max(axis=0, initial=-1.0)
    return np.where(worst < 0, np.nan, worst)


def error_parts(problem: Statistics, benchmark: Statistics) -> Floats:
    """What `relative_error` is the largest of: the parts of Max, Min, Mean and Norm, row by row.

    -1 where a statistic does not count: one side lacks it, or it overflowed. What masks of two
    formats make differ is no error; what stands beside a mask has a scale without it.
    """
    norm = np.abs(benchmark.table[3])
    absmax = _largest_but_masks(problem, benchmark)
    # Of a norm that overflowed the largest magnitude is what a mean is seen beside.
    rms = np.where(np.isinf(norm), absmax, norm / np.sqrt(np.maximum(benchmark.size, 1.0)))
    scales = np.stack((absmax, absmax, rms, norm))
    errors = scaled_difference(problem.table, benchmark.table, scales)
    both = problem.recorded & benchmark.recorded & ~problem.overflowed & ~benchmark.overflowed
    masked = are_smallest(problem.table[1]) & are_smallest(benchmark.table[1])
    masked &= problem.table[1] != benchmark.table[1]
    errors[1:, masked] = 0.0
    errors[~both] = -1.0
    return errors


def _largest_but_masks(problem: Statistics, benchmark: Statistics) -> Floats:
    """The benchmark's largest magnitude, where both sides mask on one end that of the other end.

    An end that holds masks on both sides is no scale: beside -3.4e38 any number is 0. Of what is
    left an extreme is all that is known, as beside infinity; where both ends are masks, all is.
    """
    absmax = np.maximum(*np.abs(benchmark.table[:2]))
    ends = mask_ends(problem.table[:2]) & mask_ends(benchmark.table[:2])
    return np.asarray(np.where(ends.any(axis=0) & ~ends.all(axis=0), np.inf, absmax))


def norm_relative_error(problem: Statistics, benchmark: Statistics) -> Floats:
    """|ΔNorm|/|benchmark Norm| of each pair, by the maximum where integers have no norm."""
    both = problem.recorded & benchmark.recorded & ~problem.overflowed & ~benchmark.overflowed
    by_norm = scaled_difference(problem.table[3], benchmark.table[3], np.abs(benchmark.table[3]))
    by_max = scaled_difference(problem.table[0], benchmark.table[0], np.abs(benchmark.table[0]))
    return np.where(both[3], by_norm, np.where(both[0], by_max, np.nan))


def nonfinite_state(record: Record) -> str:
    """NaN or Inf where a tensor's extremes are not finite, else the empty text."""
    for cell in (record.Max, record.Min):
        number = number_of(cell)
        if cell is not None and not isfinite(number):
            return "NaN" if isnan(number) else "Inf"
    return ""
