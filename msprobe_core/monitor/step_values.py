"""What a framework's collector hands over: the values of one finished step."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from msprobe_core.format.series import TrendTarget


@dataclass(frozen=True, slots=True)
class Measured:
    """The targets that are new with a step, and [statistic][target] of all known so far."""

    new: list[TrendTarget]
    table: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class StepValues:
    """One finished step.

    `held` waits in memory for an alert. `differing`: parameters whose replicas are not the same,
    with the ranks that differ from most.
    """

    step: int
    main: Measured
    held: Measured | None = None
    differing: dict[str, list[int]] = field(default_factory=dict)
