"""Which series were measured again and again, and are not any more.

A parameter without a gradient is not measured, so a layer that is cut off shows by what is
missing. Pauses are a series' own: one that is measured every eighth step, or an expert that is
seldom chosen, is missing after three times its longest pause so far.
"""

from __future__ import annotations

import numpy as np

from msprobe_core.monitor.own_past import WINDOW, Mask, Places

_PAUSES = 3


class Presence:
    """The pauses of many series; those measured fewer than 64 times are not missed."""

    def __init__(self) -> None:
        self._times = self._pause = self._longest = np.zeros(0, np.intp)

    def grow(self, more: int) -> None:
        """Follow so many further series."""
        nothing: Places = np.zeros(more, np.intp)
        self._times, self._pause, self._longest = (
            np.concatenate([each, nothing]) for each in (self._times, self._pause, self._longest)
        )

    def missing(self, there: Mask) -> Mask:
        """Take what was measured in a step; who is missing from this step on, said once."""
        self._pause += 1
        known = there & (self._times > 0)
        self._longest[known] = np.maximum(self._longest, self._pause)[known]
        self._times += there
        self._pause[there] = 0
        missed: Mask = (self._times >= WINDOW) & (self._pause == _PAUSES * self._longest)
        return missed
