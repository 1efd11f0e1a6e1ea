"""How far apart tensors are by the sketches in their records, which see the order of elements.

docs/formats.md defines the sketch: eight projections whose differences estimate an L2 distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.compare.mask_constants import hold_masks
from builder.compare.statistics import Floats, Statistics, statistics_of
from builder.dump.sketch_numbers import projected_norms, sketches_of
from builder.dump.values import Record
from msprobe_core.format import is_integer_dtype

# Projections are stored in float32 and were summed in it: nearer than that they tell nothing.
_RESOLUTION = 2.0**-21


@dataclass(slots=True)
class Estimates:
    """What two sketches tell of a pair, by row; NaN where a side has none.

    `distance` estimates ‖p−b‖₂, `error` that over ‖b‖₂, `cosine` the cosine of p and b. Elements
    that a sketch leaves out, infinities and masks, count for none of them.
    """

    distance: Floats
    error: Floats
    cosine: Floats


def estimate(
    problem: Floats,
    benchmark: Floats,
    statistics: tuple[Statistics, Statistics],
    integer: NDArray[np.bool_],
) -> Estimates:
    """Estimates from the projections of both sides, row by row; `integer` rows are exact."""
    distance = projected_norms(problem - benchmark)
    p, b = (_norm_of(*side) for side in zip((problem, benchmark), statistics, strict=True))
    with np.errstate(all="ignore"):
        nearest = np.where(
            integer,
            0.0,
            _RESOLUTION * np.fmax(projected_norms(problem), projected_norms(benchmark)),
        )
        distance = np.where(distance <= nearest, 0.0, distance)
        error = np.where(distance == 0, 0.0, distance / b)
        cosine = np.clip((p**2 + b**2 - distance**2) / (2 * p * b), -1.0, 1.0)
    unknown = np.isnan(distance)
    return Estimates(distance, np.where(unknown, np.nan, error), cosine)


def estimate_pairs(ours: list[Record], theirs: list[Record]) -> Estimates | None:
    """Estimates for pairs of records; None where one side has no sketch at all."""
    problem, benchmark = sketches_of(ours), sketches_of(theirs)
    if problem is None or benchmark is None:
        return None
    integer = np.array([is_integer_dtype(record.dtype or "") for record in ours], dtype=bool)
    return estimate(problem, benchmark, (statistics_of(ours), statistics_of(theirs)), integer)


def _norm_of(projections: Floats, statistics: Statistics) -> Floats:
    """The norm of what a sketch covers: the recorded one, unless it counts masks."""
    recorded = np.where(statistics.recorded[3], statistics.table[3], np.nan)
    covers = np.isfinite(recorded) & ~hold_masks(statistics.table[:2])
    return np.where(covers, recorded, projected_norms(projections))
