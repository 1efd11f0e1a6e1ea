"""Alerts while a training runs: one a cause, by how far a series leaves its own recent past.

A series is the root mean square of a target over the steps, on a scale of octaves (log2). Its
noise is 1.48 times the median absolute deviation of its last 64 values, at least that of the median
series (of its kind, in what the forward pass makes) and at least 0.05 octaves (3.5 %): 8 of these
are rarer in Gaussian noise than anything that a training of 10^4 series and 10^5 steps shows. All
that leaves its past in a step in which something fires has one cause, named by what a step makes
first; what fires until 8 steps were quiet belongs to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from msprobe_core.format.alerts import Alert
from msprobe_core.format.series import STATISTICS, TrendTarget

WINDOW, RECENT, QUIET = 64, 8, 8
_NOISE_FACTOR, _LEAST_NOISE, _NORMAL = 8.0, 0.05, 1.4826
_LOSS_FACTOR = 5.0
"""The loss is one series and asked once a step, not thousands of times: Gaussian noise exceeds 5
times its scale once in 3.5e6 steps. The largest rise above the last 8 values in eight sound
trainings (3,350 steps of `tests/trend_cases`) was 3.8 times; a loss x30 near its end, 5.9."""
_OF_THEIR_OWN = frozenset({"actv", "loss", "param"})
"""Their least noise is the median of their kind. In a small network with batch norm activations had
0.04 octaves and gradients 1.3: the median of all, 0.6, hides an output that is 8 times too large.
What the backward pass makes has rare leaps in sound trainings (a rare token, an expert chosen
once): to it the median of its own kind is too little, and that of all series stands."""
_LEAST_JUMP, _EARLY_JUMP = 1.0, 2.0
_NEW_LEVEL = 16
"""Values that stay away for so many steps are the new normal."""
_LOW_STEPS = _ZERO_STEPS = 3
"""A value may fall for a good reason, once; a jump cannot."""
_RENEW = 8  # steps between medians: they are what costs
_DRIFT_EVERY, _DRIFT_OCTAVES, _DRIFT_SHARE = 16, 1.5, 0.8
_SILENT = frozenset({"lr", "seconds", "loss_scale", "skipped", "clip"})
_AVERAGES = frozenset({"exp_avg", "exp_avg_sq"})
"""Means over many steps go one way for long by what they are: their gradients say what drifts."""
_AT_TIMES_ZERO = frozenset({"ratio"})
"""An update below the resolution of its weight is 0 at times (a bias before batch norm); where the
gradient is cut off, the gradient is 0 itself."""
_MOST_NAMED = 20
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class AlertWatch:
    """Watches the values of one rank, step by step."""

    def __init__(self) -> None:
        self._targets: list[TrendTarget] = []
        self._order: NDArray[np.intp] = np.zeros(0, np.intp)
        self._watched = self._drifts = self._dies = np.zeros(0, bool)
        self._window: Floats = np.zeros((WINDOW, 0))
        self._recent: Floats = np.zeros((RECENT, 0))
        self._noise: Floats = np.zeros(0)
        self._factor: Floats = np.zeros(0)
        self._kinds: list[NDArray[np.intp]] = []
        self._seen = self._zeros = self._away = self._low = np.zeros(0, np.intp)
        self._drifting: set[int] = set()
        self._count = 0
        self._last: dict[str, int] = {}
        self._rates: dict[int, float] = {}

    def step(
        self, step: int, new: Sequence[TrendTarget], table: NDArray[np.float32]
    ) -> list[Alert]:
        """Take the values of a step, [statistic][target]; what is to be said of them."""
        if new:
            self._grow(new)
        values, there = self._values(table)
        with np.errstate(all="ignore"):
            octaves = np.log2(values)
        if self._count % _RENEW == 0 or self._count < 2 * RECENT:
            self._renew()
        found = self._fired(values, octaves, there)
        alerts = self._grouped(step, found, self._rate_change(table))
        alerts += self._drift(step)
        self._count += 1
        return alerts

    def disagree(self, step: int, differing: Mapping[str, Sequence[int]]) -> list[Alert]:
        """Replicas that are not the same, said once until they agree again for 8 checks."""
        if not differing:
            return []
        fresh = "disagree" not in self._last
        self._last["disagree"] = self._count
        names = list(differing)
        ranks = sorted({rank for each in differing.values() for rank in each})
        others = [("param", name) for name in names[1:_MOST_NAMED]]
        alert = Alert(step, "disagree", ("param", names[0]), None, len(names), others, ranks)
        return [alert] if fresh else []

    def _values(self, table: NDArray[np.float32]) -> tuple[Floats, Mask]:
        size = table[STATISTICS.index("size")].astype(np.float64)
        there = (size > 0) & self._watched[: len(size)]
        norm = table[STATISTICS.index("norm")].astype(np.float64)
        with np.errstate(all="ignore"):
            values = np.where(there, norm / np.sqrt(size), np.nan)
        values[there & (table[STATISTICS.index("infs")] > 0)] = np.inf
        return values, there

    def _renew(self) -> None:
        with np.errstate(all="ignore"):
            middle = _nanmedian(self._window)
            own = _NORMAL * _nanmedian(np.abs(self._window - middle))
        typical = np.full(len(own), _median(own))
        for columns in self._kinds:
            known = columns[self._seen[columns] >= RECENT]
            if len(known):
                typical[columns] = _median(own[known])
        self._noise = np.fmax(np.fmax(own, typical), _LEAST_NOISE)

    def _fired(self, values: Floats, octaves: Floats, there: Mask) -> dict[int, tuple[str, float]]:
        """The kind and the octaves of each series that fires; the windows take the others.

        A fall waits for its third step, but where something else fires it is told with it: what
        fell may be the cause.
        """
        least = np.where(self._seen < RECENT, _EARLY_JUMP, _LEAST_JUMP)
        limit = np.fmax(least, self._factor * np.fmax(self._noise, _LEAST_NOISE))
        with np.errstate(all="ignore"):
            top, bottom = np.fmax.reduce(self._recent), np.fmin.reduce(self._recent)
            off = np.where(
                octaves > top, octaves - top, np.where(octaves < bottom, octaves - bottom, 0)
            )
        comparable = there & np.isfinite(off) & (self._seen >= 2)
        high, low = comparable & (off > limit), comparable & (off < -limit)
        zero = there & (values == 0)
        self._zeros = np.where(zero, self._zeros + 1, np.where(there, 0, self._zeros))
        self._low = np.where(low, self._low + 1, np.where(there, 0, self._low))
        self._away = np.where(high | low, self._away + 1, np.where(there, 0, self._away))
        kinds = (
            ("not finite", there & ~np.isfinite(values)),
            ("jump", high),
            ("vanishes", low & (self._low >= _LOW_STEPS)),
            ("dead", (self._zeros == _ZERO_STEPS) & zero & self._dies & (self._seen >= RECENT)),
        )
        self._remember(
            octaves, there & np.isfinite(octaves) & ~((high | low) & (self._away < _NEW_LEVEL))
        )
        if not any(mask.any() for _, mask in kinds):
            return {}
        fresh = zero & (self._zeros == 1) & self._dies & (self._seen >= RECENT)
        return {
            int(i): (kind, float(off[i]))
            for kind, mask in (("vanishes", low | fresh), *reversed(kinds))
            for i in np.flatnonzero(mask)
        }

    def _remember(self, octaves: Floats, keep: Mask) -> None:
        columns = np.flatnonzero(keep)
        self._recent[self._seen[columns] % RECENT, columns] = octaves[columns]
        self._window[self._seen[columns] % WINDOW, columns] = octaves[columns]
        self._seen[columns] += 1

    def _grouped(
        self, step: int, found: Mapping[int, tuple[str, float]], rate: float | None
    ) -> list[Alert]:
        alerts: list[Alert] = []
        broken = {i: each for i, each in found.items() if each[0] == "not finite"}
        finite = {i: each for i, each in found.items() if each[0] != "not finite"}
        for name, group in (("not finite", broken), ("finite", finite)):
            swallowed = name == "finite" and self._is_open("not finite")
            if not group or swallowed:
                continue
            if not self._is_open(name):
                alerts.append(self._alert(step, group, rate))
            self._last[name] = self._count
        return alerts

    def _is_open(self, name: str) -> bool:
        return name in self._last and self._count - self._last[name] <= QUIET

    def _alert(
        self, step: int, group: Mapping[int, tuple[str, float]], rate: float | None
    ) -> Alert:
        ordered = sorted(group, key=lambda i: self._order[i])
        first = ordered[0]
        kind, off = group[first]
        factor = 2.0**off if kind in ("jump", "vanishes") and np.isfinite(off) else None
        others = [self._targets[i].key for i in ordered[1:_MOST_NAMED]]
        return Alert(step, kind, self._targets[first].key, factor, len(group), others, lr=rate)

    def _drift(self, step: int) -> list[Alert]:
        """Growth of 1.5 octaves in a window, nearly all the way up: named by what grew most.

        An alert within the window is the cause of what grew in it, and has been said.
        """
        if self._count % _DRIFT_EVERY != _DRIFT_EVERY - 1:
            return []
        if any(self._count - last <= WINDOW for last in self._last.values()):
            return []
        columns = np.flatnonzero((self._seen >= 2 * WINDOW) & self._drifts)
        if not len(columns):
            return []
        rows = (self._seen[columns] + np.arange(WINDOW)[:, None]) % WINDOW
        ordered = self._window[rows, columns]
        rising = (np.diff(ordered, axis=0) > 0).mean(0)
        grown = np.median(ordered[-RECENT:], 0) - np.median(ordered[:RECENT], 0)
        mask = (grown > _DRIFT_OCTAVES) & (rising > _DRIFT_SHARE)
        found = [int(i) for i in np.flatnonzero(mask) if int(columns[i]) not in self._drifting]
        if not found:
            return []
        lead = max(found, key=lambda i: grown[i])
        self._drifting |= {int(columns[i]) for i in found}
        target = self._targets[int(columns[lead])].key
        others = [self._targets[int(columns[i])].key for i in found if i != lead][:_MOST_NAMED]
        return [Alert(step, "drift", target, 2.0 ** float(grown[lead]), len(found), others)]

    def _rate_change(self, table: NDArray[np.float32]) -> float | None:
        """By how many times a learning rate changed since the last step, the largest of them."""
        changes: list[float] = []
        means = table[STATISTICS.index("mean")]
        for column, target in enumerate(self._targets):
            if target.kind == "lr" and column < len(means):
                before, now = self._rates.get(column), float(means[column])
                if before and now > 0 and abs(np.log2(now / before)) > 1:
                    changes.append(now / before)
                self._rates[column] = now
        return max(changes, key=lambda change: abs(np.log2(change)), default=None)

    def _grow(self, new: Sequence[TrendTarget]) -> None:
        self._targets += new
        more = len(self._targets) - len(self._watched)
        ranked = sorted(range(len(self._targets)), key=lambda i: self._targets[i].order)
        self._order = np.argsort(np.asarray(ranked, dtype=np.intp))
        self._watched = np.asarray([t.kind not in _SILENT for t in self._targets])
        self._drifts = np.asarray([t.kind not in _AVERAGES for t in self._targets])
        self._dies = np.asarray([t.kind not in _AT_TIMES_ZERO for t in self._targets])
        self._window = np.concatenate([self._window, np.full((WINDOW, more), np.nan)], 1)
        self._recent = np.concatenate([self._recent, np.full((RECENT, more), np.nan)], 1)
        self._noise = np.concatenate([self._noise, np.full(more, np.nan)])
        kinds = np.asarray([t.kind for t in self._targets])
        self._factor = np.where(kinds == "loss", _LOSS_FACTOR, _NOISE_FACTOR)
        self._kinds = [np.flatnonzero(kinds == kind) for kind in sorted(_OF_THEIR_OWN)]
        nothing = np.zeros(more, np.intp)
        self._seen, self._zeros, self._away, self._low = (
            np.concatenate([each, nothing])
            for each in (self._seen, self._zeros, self._away, self._low)
        )


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
