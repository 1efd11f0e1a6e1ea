"""Where the learning rates of two trainings first differ: what a script sets, and no result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.series.run import TrendRun

# Rates are written as float32, whose last bit is 1.2e-7 of them.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Rates:
    """The learning rates at the first `step` at which they differ, the other run's last."""

    step: int
    own: float
    other: float


def rates_apart(
    problem: TrendRun, benchmark: TrendRun, steps: NDArray[np.int64], last: int
) -> Rates | None:
    """The first rates that differ, up to a step; None where they are alike or nobody wrote them."""
    theirs = {target.key for target in benchmark.targets}
    keys = [t.key for t in problem.targets if t.kind == "lr" and t.key in theirs]
    steps = steps[steps <= last]
    if not keys or not len(steps):
        return None
    own, other = (run.values_at(steps, keys).astype(np.float64) for run in (problem, benchmark))
    known = np.isfinite(own) & np.isfinite(other)
    apart = known & (np.abs(own - other) > _ROUNDING * np.maximum(np.abs(own), np.abs(other)))
    if not apart.any():
        return None
    row, column = np.argwhere(apart)[0].tolist()
    return Rates(int(steps[row]), float(own[row, column]), float(other[row, column]))
