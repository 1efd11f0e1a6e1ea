"""Learning rates as a schedule changes them, and what updates do with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from msprobe_core.format.series import TrendTarget
from msprobe_core.monitor.own_past import NEW_LEVEL, Floats, Mask

_KNOWN = 1.05
"""A rate that a training has had, and a little: restarts come back to the largest, never above."""
_OWN = 1.0
"""Octaves by which an update leaves its past beside its rate: the least that counts as a leap."""


class RateChanges:
    """Follows the rates of all groups."""

    def __init__(self) -> None:
        self._columns: list[int] = []
        self._last: dict[int, float] = {}
        self._most: dict[int, float] = {}
        self._expected = 0.0  # octaves by which updates move with their rate
        self._since = NEW_LEVEL

    def grow(self, targets: Sequence[TrendTarget]) -> None:
        """Look at all targets so far."""
        self._columns = [column for column, target in enumerate(targets) if target.kind == "lr"]

    def look(self, means: Floats) -> float | None:
        """By how many times a rate changed since the last step, the largest of them."""
        changes: list[float] = []
        returns = True
        for column in self._columns:
            now = float(means[column]) if column < len(means) else np.nan
            before = self._last.get(column, 0.0)
            if not np.isfinite(now):
                continue
            if before > 0 and now > 0 and abs(np.log2(now / before)) > 1:
                changes.append(now / before)
                returns &= now <= _KNOWN * self._most[column]
            self._last[column] = now
            self._most[column] = max(now, self._most.get(column, 0.0))
        change = max(changes, key=lambda each: abs(np.log2(each)), default=None)
        self._since += 1
        if change is not None:
            self._since = 0
            self._expected = float(np.log2(change)) if returns else 0.0
        return change

    def explains(self, moved: Floats) -> Mask:
        """Which leaps of updates are those of a rate that fell or came back to what it has been.

        What stays away counts as a new level after `NEW_LEVEL` steps.
        """
        if self._since >= NEW_LEVEL or not self._expected:
            return np.zeros(len(moved), dtype=bool)
        same_way = np.sign(moved) == np.sign(self._expected)
        explained: Mask = same_way & (np.abs(moved) <= abs(self._expected) + _OWN)
        return explained
