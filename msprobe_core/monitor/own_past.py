"""How far series leave their own recent past, on a scale of octaves (log2).

Invariants: a series' last 64 kept values are its window (and what they were before anything was
taken off its whole one), the last 8 of them its recent ones; a value that leaves the past enters
none, until it has stayed away for 16 steps: then it is the new normal. Medians are renewed every 8
steps, since they are what costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WINDOW, RECENT = 64, 8
LEAST_NOISE = 0.05
"""Octaves (3.5 %): below, a difference is of no account."""
_NORMAL = 1.4826
"""Standard deviations of a Gaussian distribution in its median absolute deviation."""
NEW_LEVEL = 16
_RENEW = 8

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Leaps:
    """Where each series stands against its past: `off` octaves above its largest or below its least
    recent value (`moved` before anything was taken off), and for how many steps it has been there.
    """

    off: Floats
    moved: Floats
    high: Mask
    low: Mask
    high_for: Places
    low_for: Places


class OwnPast:
    """The windows of many series."""

    def __init__(self) -> None:
        self.window: Floats = np.zeros((WINDOW, 0))
        self.whole_window: Floats = np.zeros((WINDOW, 0))
        self.middle: Floats = np.zeros(0)
        self.seen: Places = np.zeros(0, np.intp)
        self._recent: Floats = np.zeros((RECENT, 0))
        self._whole: Floats = np.zeros((RECENT, 0))
        self._noise: Floats = np.zeros(0)
        self._high_for = self._low_for = np.zeros(0, np.intp)

    def grow(self, more: int) -> None:
        """Follow so many further series."""
        self.window, self.whole_window = (
            np.concatenate([each, np.full((WINDOW, more), np.nan)], 1)
            for each in (self.window, self.whole_window)
        )
        self._recent, self._whole = (
            np.concatenate([each, np.full((RECENT, more), np.nan)], 1)
            for each in (self._recent, self._whole)
        )
        unknown, nothing = np.full(more, np.nan), np.zeros(more, np.intp)
        self.middle = np.concatenate([self.middle, unknown])
        self._noise = np.concatenate([self._noise, unknown])
        self.seen, self._high_for, self._low_for = (
            np.concatenate([each, nothing]) for each in (self.seen, self._high_for, self._low_for)
        )

    def renew(self, count: int, groups: Sequence[Places]) -> None:
        """At every 8th step, and in the first 16: take medians anew; a series' noise is at least
        that of the median series of its group.
        """
        if count % _RENEW and count >= 2 * RECENT:
            return
        with np.errstate(all="ignore"):
            self.middle = _nanmedian(self.window)
            own = _NORMAL * _nanmedian(np.abs(self.window - self.middle))
        typical = np.full(len(own), _median(own))
        for columns in groups:
            settled = columns[self.seen[columns] >= RECENT]
            if len(settled):
                typical[columns] = _median(own[settled])
        self._noise = np.fmax(np.fmax(own, typical), LEAST_NOISE)

    def look(
        self, octaves: Floats, whole: Floats, there: Mask, factor: Floats, least: Floats
    ) -> Leaps:
        """Hold the values of a step against the past and let it take those that fit.

        `whole` are the values before anything was taken off. Out of bounds is who leaves the recent
        values by `factor` times its noise and `least` octaves; and, as a whole, by `least` octaves
        all of them (low) or their median (high: one batch may have raised some of them, too).
        """
        off, moved = _beyond(octaves, self._recent), _beyond(whole, self._whole)
        limit = np.fmax(least, factor * np.fmax(self._noise, LEAST_NOISE))
        comparable = there & np.isfinite(off) & (self.seen >= 2)
        high = comparable & (off > limit) & (whole - _nanmedian(self._whole) > least)
        low = comparable & (off < -limit) & (moved < -least)
        self._high_for = np.where(high, self._high_for + 1, np.where(there, 0, self._high_for))
        self._low_for = np.where(low, self._low_for + 1, np.where(there, 0, self._low_for))
        away = self._high_for + self._low_for
        keep = there & np.isfinite(octaves) & ((away == 0) | (away >= NEW_LEVEL))
        self._remember(octaves, whole, keep)
        return Leaps(off, moved, high, low, self._high_for, self._low_for)

    def _remember(self, octaves: Floats, whole: Floats, keep: Mask) -> None:
        columns = np.flatnonzero(keep)
        self._recent[self.seen[columns] % RECENT, columns] = octaves[columns]
        self._whole[self.seen[columns] % RECENT, columns] = whole[columns]
        self.window[self.seen[columns] % WINDOW, columns] = octaves[columns]
        self.whole_window[self.seen[columns] % WINDOW, columns] = whole[columns]
        self.seen[columns] += 1


def _beyond(values: Floats, recent: Floats) -> Floats:
    """By how much values are above the largest recent ones or below the least."""
    with np.errstate(all="ignore"):
        top, bottom = np.fmax.reduce(recent), np.fmin.reduce(recent)
        above, below = values - top, values - bottom
        return np.where(values > top, above, np.where(values < bottom, below, 0))


def _median(values: Floats) -> float:
    """The median of what is finite; NaN, and no warning, where nothing is."""
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else np.nan


def _nanmedian(values: Floats) -> Floats:
    """The median over the first axis without NaN; NaN, and no warning, where there is nothing."""
    ordered = np.sort(values, axis=0)  # NaN comes last
    count = (~np.isnan(values)).sum(0)
    columns = np.arange(values.shape[1])
    low = ordered[np.maximum(count - 1, 0) // 2, columns]
    high = ordered[np.minimum(count // 2, values.shape[0] - 1), columns]
    middle: Floats = (low + high) / 2
    return middle
