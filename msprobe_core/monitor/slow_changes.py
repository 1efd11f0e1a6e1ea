"""What leaps nowhere and yet goes one way for long: growth, and gradients that fade."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from msprobe_core.format.alerts import Alert
from msprobe_core.format.series import TrendTarget
from msprobe_core.monitor.own_past import RECENT, WINDOW, Floats, Mask, OwnPast, Places

_DRIFT_OCTAVES, _DRIFT_SHARE = 1.5, 0.8
AVERAGES = frozenset({"exp_avg", "exp_avg_sq"})
"""Means over many steps go one way for long by what they are: their gradients say what drifts."""
_FADING, _FADE_OCTAVES = frozenset({"actv_grad", "grad", "grad_norm"}), 4.0
"""A gradient is that of its loss: where one is learnt, both fall together (of cross entropy as it
does, of squares by half). Twelve kinds of sound training (40,800 steps, two seeds of
`evaluation/trend_cases/healthy.py`) are silent; a tenth less each step makes 8.5 octaves."""
_MOST_NAMED = 20


class SlowChanges:
    """Looks through the windows of series that an `OwnPast` keeps."""

    def __init__(self, past: OwnPast) -> None:
        self._past = past
        self._targets: Sequence[TrendTarget] = ()
        self._drifts = self._fades = self._is_loss = np.zeros(0, bool)
        self.drifting: set[int] = set()
        self.fading: set[int] = set()

    def grow(self, targets: Sequence[TrendTarget]) -> None:
        """Look at all targets so far."""
        self._targets = targets
        kinds = np.asarray([target.kind for target in targets])
        self._drifts = ~np.isin(kinds, sorted(AVERAGES))
        self._fades, self._is_loss = np.isin(kinds, sorted(_FADING)), kinds == "loss"

    def look(self, step: int, negative: Mask, is_told: Callable[[int], bool]) -> list[Alert]:
        """What drifts, else what fades; `negative` are losses whose size tells nothing."""
        return self._grows(step, negative, is_told) or self._fades_away(step, negative)

    def _grows(self, step: int, negative: Mask, is_told: Callable[[int], bool]) -> list[Alert]:
        seen = self._past.seen
        columns = np.flatnonzero((seen >= 2 * WINDOW) & self._drifts & ~negative)
        if not len(columns):
            return []
        ordered, whole = self._windows(columns)
        rising = (np.diff(ordered, axis=0) > 0).mean(0)
        grown = np.minimum(_growth(ordered), _growth(whole))
        mask = (grown > _DRIFT_OCTAVES) & (rising > _DRIFT_SHARE)
        found = [i for i in np.flatnonzero(mask).tolist() if not is_told(int(columns[i]))]
        self.drifting |= {int(columns[i]) for i in found}
        return self._drifted(step, "drift", columns, grown, found)

    def _fades_away(self, step: int, negative: Mask) -> list[Alert]:
        """Gradients that fall for long and by more than the loss that they are made of does."""
        columns = np.flatnonzero((self._past.seen >= WINDOW) & self._fades)
        if not len(columns):
            return []
        _, whole = self._windows(columns)
        fallen = -_growth(whole) - self._loss_fell(negative)
        falling = (whole[RECENT:] < whole[:-RECENT]).mean(0)
        mask = (fallen > _FADE_OCTAVES) & (falling > _DRIFT_SHARE)
        fading = {int(each) for each in columns[mask]}
        found = [i for i in np.flatnonzero(mask).tolist() if int(columns[i]) not in self.fading]
        fresh = not self.fading
        self.fading |= fading
        return self._drifted(step, "fades", columns, -fallen, found) if fresh else []

    def _loss_fell(self, negative: Mask) -> float:
        """Octaves by which the loss fell in its window; 0 where it rose, or tells nothing."""
        columns = np.flatnonzero(self._is_loss & (self._past.seen >= WINDOW) & ~negative)
        if not len(columns):
            return 0.0
        return max(0.0, -float(_growth(self._windows(columns)[1]).min()))

    def _windows(self, columns: Places) -> tuple[Floats, Floats]:
        """The last values of series, the oldest first: against the others, and as a whole."""
        rows = (self._past.seen[columns] + np.arange(WINDOW)[:, None]) % WINDOW
        return self._past.window[rows, columns], self._past.whole_window[rows, columns]

    def _drifted(
        self, step: int, kind: str, columns: Places, moved: Floats, found: Sequence[int]
    ) -> list[Alert]:
        """One alert of all that drift, named by what has moved most."""
        if not found:
            return []
        lead = max(found, key=lambda i: abs(moved[i]))
        target = self._targets[int(columns[lead])].key
        others = [self._targets[int(columns[i])].key for i in found if i != lead][:_MOST_NAMED]
        return [Alert(step, kind, target, 2.0 ** float(moved[lead]), len(found), others)]


def _growth(window: Floats) -> Floats:
    """From the median of a window's first steps to that of its last ones."""
    growth: Floats = np.median(window[-RECENT:], 0) - np.median(window[:RECENT], 0)
    return growth
