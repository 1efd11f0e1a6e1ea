"""Numbers of values that add up as the values do: whether gradients are sums of others is told."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from builder.compare.comparison import Comparison
from builder.compare.statistics import Floats
from builder.evidence.distances import epsilons

# Roundings of a format by which a sum of two gradients may be off: of each term, of the sum, and
# of what they are computed from.
_ROUNDINGS = 4.0
# Sketches are stored in float32, three of which are added.
_RESOLUTION = 3 * 2.0**-21


def projections(comparison: Comparison, side: Literal[0, 1], rows: NDArray[np.int64]) -> Floats:
    """Nine numbers of each row's value on a side: its sketch, and mean times the root of its size.

    NaN where a dump has none.
    """
    pairs, own = comparison.pairs, comparison.statistics[side]
    values = (pairs.problem, pairs.benchmark)[side][rows]
    sketches = comparison.columns[side].take_sketches(values)
    with np.errstate(invalid="ignore"):
        means = own.table[2][rows] * np.sqrt(own.size[rows])
    return np.column_stack((sketches, means))


def rounding_of_sums(comparison: Comparison, rows: NDArray[np.int64]) -> Floats:
    """The distance that rounding leaves between each row's value and sums that it is part of."""
    ours, theirs = (side.table[3][rows] for side in comparison.statistics)
    epsilon = np.nan_to_num(epsilons(comparison, 0)[rows])
    with np.errstate(invalid="ignore"):
        return np.asarray((_ROUNDINGS / 2 * epsilon + _RESOLUTION) * (ours + theirs))


def length(told: Floats) -> float:
    """The length that a value's projections tell; NaN, which equals nothing, without any."""
    known = told[np.isfinite(told)]
    return float(np.sqrt(np.mean(known**2))) if len(known) else np.nan
