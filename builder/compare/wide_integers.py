"""Extremes of integers that float64, in which statistics are held, cannot tell apart."""

from __future__ import annotations

import numpy as np

from builder.compare.statistics import Floats, Statistics
from builder.dump.values import Record

_WHOLE = 2.0**53  # integers up to here are float64s of their own


def wide_distances(
    records: tuple[list[Record], list[Record]], statistics: tuple[Statistics, Statistics]
) -> Floats | None:
    """By row how far extremes are apart that are one float64; None where there are none.

    A distance is 0 where the extremes are the same integers, or float64 tells them apart.
    """
    ours, theirs = (side.table[:2] for side in statistics)
    with np.errstate(invalid="ignore"):
        rows = np.flatnonzero(((np.abs(ours) >= _WHOLE) & (ours == theirs)).any(axis=0))
    told = {row: _distance(records[0][row], records[1][row]) for row in rows.tolist()}
    if not any(told.values()):
        return None
    distances = np.zeros(ours.shape[1])
    distances[list(told)] = list(told.values())
    return distances


def _distance(ours: Record, theirs: Record) -> float:
    pairs = ((ours.Max, theirs.Max), (ours.Min, theirs.Min))
    whole = [abs(p - b) for p, b in pairs if isinstance(p, int) and isinstance(b, int)]
    return float(max(whole, default=0))
