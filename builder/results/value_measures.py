"""What compares the records of two values, measured when asked for.

The database keeps the statistics and sketches themselves, and of each pair its error and score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from builder.compare.sketches import estimate_pairs
from builder.compare.statistics import Bools, Floats, Statistics, statistics_of
from builder.compare.told_apart import named_part, statistics_parts
from builder.dump.statistic_cells import scaled_difference
from builder.dump.values import Record
from builder.results.records import ErrorOf, Measure

_STATISTICS = ("Max", "Min", "Mean", "Norm")
_OF_STATISTICS = (" diff", "RelativeErr")
FROM_STATISTICS = frozenset(name + of for name in _STATISTICS for of in _OF_STATISTICS)
"""Measures that follow from the statistics of both sides."""


@dataclass(frozen=True, slots=True)
class ValueMeasures:
    """Measures by the names that users know, and the parts that an error is the largest of."""

    named: Mapping[str, Measure] = field(default_factory=dict)
    parts: Mapping[ErrorOf, float] = field(default_factory=dict)

    def error_of(self, error: float | None) -> ErrorOf | None:
        """Which part an error is; None where it is of something else."""
        return named_part(self.parts, error)


def measure_values(ours: list[Record], theirs: list[Record]) -> list[ValueMeasures]:
    """The measures of pairs of records, in their order."""
    sides = statistics_of(ours), statistics_of(theirs)
    named = _statistics_measures(*sides)
    parts = statistics_parts(*sides)
    estimates = estimate_pairs(ours, theirs)
    if estimates is not None:
        for row in np.flatnonzero(~np.isnan(estimates.error)).tolist():
            error, cosine = float(estimates.error[row]), float(estimates.cosine[row])
            named[row]["Estimated Relative Error"] = measure_of(error)
            named[row]["Estimated Cosine"] = None if math.isnan(cosine) else measure_of(cosine)
            parts[row]["sketch"] = error
    return [ValueMeasures(*pair) for pair in zip(named, parts, strict=True)]


def measure_of(number: object) -> Measure:
    """A number as it can be sent: what is not finite becomes text, what is no number nothing."""
    if number == "nan":
        return "nan"
    if not isinstance(number, int | float):
        return None
    if math.isfinite(number):
        return float(number)
    if math.isnan(number):
        return "nan"
    return "inf" if number > 0 else "-inf"


def _statistics_measures(ours: Statistics, theirs: Statistics) -> list[dict[str, Measure]]:
    """Differences and relative errors of Max, Min, Mean and Norm for every pair."""
    recorded = ours.recorded & theirs.recorded
    with np.errstate(all="ignore"):
        difference = ours.table - theirs.table
    relative = scaled_difference(ours.table, theirs.table, np.abs(theirs.table))
    return [
        _named(difference[:, place], relative[:, place], recorded[:, place])
        for place in range(recorded.shape[1])
    ]


def _named(difference: Floats, relative: Floats, recorded: Bools) -> dict[str, Measure]:
    named: dict[str, Measure] = {}
    if not recorded.any():
        return named
    for suffix, column in zip(_OF_STATISTICS, (difference, relative), strict=True):
        for row, name in enumerate(_STATISTICS):
            known = bool(recorded[row])
            named[name + suffix] = measure_of(float(column[row])) if known else None
    return named
