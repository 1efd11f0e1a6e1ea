"""Alerts while a training runs: one a cause, by how far a series leaves its own recent past.

A series is the root mean square of a target over the steps, on a scale of octaves (log2). Its
noise is 1.48 times the median absolute deviation of its last 64 values, at least that of the median
series of its kind and at least 0.05 octaves (3.5 %): 8 of these are rarer in Gaussian noise than
anything that a training of 10^4 series and 10^5 steps shows. All that leaves its past in a step in
which something fires has one cause, named by what a step makes first; what fires until 8 steps were
quiet belongs to it.

What the backward pass makes swings as a whole from batch to batch (by 1.3 octaves in a small
network with batch norm), and each series only little against the others (0.1 to 0.5). So it is
split in two: what a kind has in common is a series of its own, each single one is followed by what
is left. One batch may raise it for a step or two (a rare token, an expert that is seldom chosen);
what is told at once is 16 times, what lasts for three steps as soon as it leaves its past.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from msprobe_core.format.alerts import Alert
from msprobe_core.format.series import DECIDING, LEAST_UPDATE, STATISTICS, TrendTarget
from msprobe_core.monitor.own_past import (
    NEW_LEVEL,
    RECENT,
    WINDOW,
    Floats,
    Leaps,
    Mask,
    OwnPast,
    Places,
)
from msprobe_core.monitor.presence import Presence
from msprobe_core.monitor.rate_changes import RateChanges
from msprobe_core.monitor.slow_changes import AVERAGES, SlowChanges
from msprobe_core.monitor.standing_still import STILL, StandingStill

QUIET = 8
_NOISE_FACTOR, _LONE_FACTOR = 8.0, 5.0
"""The loss, or what a kind has in common, is one series and not thousands: Gaussian noise exceeds 5
times its scale once in 3.5e6 steps. The largest rise above the last 8 values in eight sound
trainings (3,350 steps of `evaluation/trend_cases`) was 3.8 times; a loss x30 near its end, 5.9."""
_SPLIT = (
    frozenset({"actv_grad"}),
    frozenset({"grad", "grad_norm"}),
    frozenset({"exp_avg"}),
    frozenset({"exp_avg_sq"}),
    frozenset({"ratio"}),
)
"""What the backward pass makes, and what the optimizer makes of it."""
_ENOUGH = 4
"""So many series have something in common; the median of fewer is one of them."""
_LEAST_JUMP, _EARLY_JUMP, _BATCH_JUMP = 1.0, 2.0, 4.0
_LASTING = _LOW_STEPS = _ZERO_STEPS = 3
"""A value may fall for a good reason, once, and one batch may raise gradients; not for long. The
largest single leap of a gradient against the others in sixteen sound trainings (12,400 steps of
`evaluation/trend_cases`, two seeds) was 2.1 octaves, of the second moment of an expert 3.1."""
_ONE_SAMPLE = 2.0
"""Octaves. One sample of a batch of eight that is twice as wrong as all were at first (a classifier
that is sure of a wrong class: three times, in `evaluation/trend_cases/unseen.py`) gives a quarter
of the loss of then. Where most are learnt, that is a hundred times the usual, and no fault."""
_CROSSING = 30.0
"""Octaves for one element. Of d elements that pass through zero all are 2^-k of their usual size
with a chance of some 2^-kd; k = 30 / d is as rare as 1e-9."""
_DRIFT_EVERY = 16
_SILENT = DECIDING | {"seconds"}
_SIGNED = frozenset({"actv_grad", "grad", "exp_avg"})
_AT_TIMES_ZERO = frozenset({"ratio"})
"""An update below the resolution of its weight is 0 at times (a bias before batch norm); where the
gradient is cut off, the gradient is 0 itself."""
_MOST_NAMED = 20
Found = Mapping[int, tuple[str, float]]
"""Which series fire, by their place: what they do, and by how many octaves."""


class AlertWatch:
    """Watches the values of one rank, step by step."""

    def __init__(self) -> None:
        self._targets: list[TrendTarget] = []
        self._order: Places = np.zeros(0, np.intp)
        self._watched = self._dies = np.zeros(0, bool)
        self._averaged = self._swings = self._signed = np.zeros(0, bool)
        self._hard = -NEW_LEVEL  # when one hard sample was last seen
        self._factor: Floats = np.zeros(0)
        self._is_loss = self._is_update = self._is_skip = np.zeros(0, bool)
        self._has_been_negative = np.zeros(0, bool)
        """Losses that pass through zero, or fall away from it: their size tells neither."""
        self._begun: Floats = np.zeros(0)
        self._past, self._common = OwnPast(), OwnPast()
        self._common.grow(len(_SPLIT))
        self._kinds: list[Places] = []
        self._split: list[Places] = [np.zeros(0, np.intp) for _ in _SPLIT]
        self._zeros: Places = np.zeros(0, np.intp)
        self._presence = Presence()
        self._told: dict[str, int] = {}
        self._levels: dict[str, int] = {}  # those of them that have a new level since
        self._count = 0
        self._last: dict[str, int] = {}
        self._rates, self._still = RateChanges(), StandingStill()
        self._untaught = np.zeros(0, bool)
        self._slow = SlowChanges(self._past)

    def step(
        self, step: int, new: Sequence[TrendTarget], table: NDArray[np.float32]
    ) -> list[Alert]:
        """Take the values of a step, [statistic][target]; what is to be said of them."""
        if new:
            self._grow(new)
        size = table[STATISTICS.index("size")].astype(np.float64)
        values, there = self._values(table, size)
        with np.errstate(all="ignore"):
            octaves = np.log2(values)
        self._past.renew(self._count, self._kinds)
        self._common.renew(self._count, ())
        rate = self._rates.look(table[STATISTICS.index("mean")].astype(np.float64))
        found = self._fired(values, octaves, there, size)
        alerts = self._grouped(step, found, rate)
        alerts += self._stands_still(step, values, table)
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

    def _values(self, table: NDArray[np.float32], size: Floats) -> tuple[Floats, Mask]:
        there = (size > 0) & self._watched[: len(size)]
        norm = table[STATISTICS.index("norm")].astype(np.float64)
        with np.errstate(all="ignore"):
            values = np.where(there, np.abs(norm) / np.sqrt(size), np.nan)
            self._has_been_negative |= self._is_loss & there & (norm < 0)
        values[there & (table[STATISTICS.index("infs")] > 0)] = np.inf
        values[self._is_update & (values < LEAST_UPDATE)] = 0
        return values, there

    def _fired(self, values: Floats, octaves: Floats, there: Mask, size: Floats) -> Found:
        """The kind and the octaves of each series that fires.

        A fall waits for its third step, but where something else fires it is told with it: what
        fell may be the cause.
        """
        common, own = self._parts(octaves, there)
        shared = self._shared(common)
        least = np.where(self._past.seen < RECENT, _EARLY_JUMP, _LEAST_JUMP)
        leaps = self._past.look(own, octaves, there, self._factor, least)
        short = leaps.high_for < np.where(self._averaged, np.inf, _LASTING)
        high = leaps.high & ~(self._swings & short & (leaps.off <= _BATCH_JUMP))
        learnt = self._is_learnt(octaves) & (leaps.high_for < _LASTING)
        if (learnt & (leaps.off > _LEAST_JUMP)).any():
            self._hard = self._count
        high &= ~learnt
        # A copy of another network leaves its past by what that one has learnt since the last copy,
        # which is most of it the first time.
        copied = (leaps.off <= _BATCH_JUMP) | (self._past.seen < WINDOW)
        high &= ~(self._untaught & copied)
        self._note_levels(leaps)
        raised, fell = self._follows_a_hard_sample(leaps)
        # What falls in the first steps is being learnt: it has no past to vanish from.
        low = leaps.low & (leaps.low_for >= _LOW_STEPS) & (self._past.seen >= RECENT)
        low &= ~self._may_cross(size, leaps.off)
        # An average of many steps has no past before it has seen them.
        young = self._averaged & (self._past.seen < WINDOW)
        zero = there & (values == 0)
        self._zeros = np.where(zero, self._zeros + 1, np.where(there, 0, self._zeros))
        mortal = zero & self._dies & (self._past.seen >= RECENT)
        scheduled = self._is_update & self._rates.explains(leaps.moved)
        kinds = (
            ("not finite", there & ~np.isfinite(values)),
            (
                "jump",
                (high | ((shared > 0) & (leaps.moved > _LEAST_JUMP)))
                & ~(young | raised | scheduled),
            ),
            (
                "vanishes",
                (low | ((shared < 0) & (leaps.moved < -_LEAST_JUMP))) & ~(fell | scheduled),
            ),
            ("dead", mortal & (self._zeros == _ZERO_STEPS)),
            ("missing", self._missing(there, size)),
        )
        if not any(mask.any() for _, mask in kinds):
            return {}
        falling = leaps.low | (mortal & (self._zeros == 1))
        return {
            int(i): (kind, float(leaps.moved[i]))
            for kind, mask in (("vanishes", falling), *reversed(kinds))
            for i in np.flatnonzero(mask)
        }

    def _missing(self, there: Mask, size: Floats) -> Mask:
        """Who is missing; a step that was skipped has no gradients for a reason, and pauses all."""
        if (self._is_skip[: len(size)] & (size > 0)).any():
            return np.zeros(len(there), dtype=bool)
        missed: Mask = self._presence.missing(there) & self._watched
        return missed

    def _is_learnt(self, octaves: Floats) -> Mask:
        """Losses that are small beside those of the first steps."""
        fresh = np.isnan(self._begun) & (self._past.seen >= RECENT)
        self._begun[fresh] = self._past.middle[fresh]
        learnt: Mask = self._is_loss & (octaves < self._begun - _ONE_SAMPLE)
        return learnt

    def _follows_a_hard_sample(self, leaps: Leaps) -> tuple[Mask, Mask]:
        """What the batch with it still raises, and what it lets fall: gradients for a moment,
        averages that left their past with it until that is their normal, and updates divided by
        them.
        """
        since = self._count - self._hard
        kept = self._swings & (self._averaged | self._is_update) & (since < NEW_LEVEL)
        soon = self._swings & (since < _LASTING)
        return soon | (kept & (leaps.high_for > since + 1 - _LASTING)), soon | kept

    def _may_cross(self, size: Floats, off: Floats) -> Mask:
        """Which are so few signed values that such a fall is passing through zero."""
        signed = self._signed | self._has_been_negative
        few: Mask = signed & (-off < _CROSSING / np.maximum(size, 1))
        return few

    def _parts(self, octaves: Floats, there: Mask) -> tuple[Floats, Floats]:
        """What series have in common, for each of `_SPLIT`, and each series without it.

        In common is the median distance from where each one mostly is, so that it is the same
        whichever of them were measured in this step.
        """
        common, own = np.full(len(_SPLIT), np.nan), octaves.copy()
        for place, columns in enumerate(self._split):
            settled = columns[
                there[columns]
                & np.isfinite(octaves[columns])
                & (self._past.seen[columns] >= RECENT)
            ]
            if len(settled) >= _ENOUGH:
                common[place] = np.median(octaves[settled] - self._past.middle[settled])
                own[columns] -= common[place]
        return common, own

    def _shared(self, common: Floats) -> Floats:
        """The octaves by which what a series has in common with others fires, else 0."""
        factor = np.full(len(common), _LONE_FACTOR)
        leaps = self._common.look(
            common, common, np.isfinite(common), factor, np.full(len(common), _LEAST_JUMP)
        )
        fires = (leaps.high & ((leaps.off > _BATCH_JUMP) | (leaps.high_for >= _LASTING))) | (
            leaps.low & (leaps.low_for >= _LOW_STEPS)
        )
        shared = np.zeros(len(self._targets))
        for place in np.flatnonzero(fires):
            shared[self._split[place]] = leaps.off[place]
        return shared

    def _grouped(self, step: int, found: Found, rate: float | None) -> list[Alert]:
        alerts: list[Alert] = []
        broken = {i: each for i, each in found.items() if each[0] == "not finite"}
        finite = {i: each for i, each in found.items() if each[0] != "not finite"}
        for name, group in (("not finite", broken), ("finite", finite)):
            swallowed = name == "finite" and self._is_open("not finite")
            if not group or swallowed:
                continue
            if not self._is_open(name) and not self._is_consequence(group):
                alerts.append(self._alert(step, group, rate))
            self._last[name] = self._count
        return alerts

    def _is_open(self, name: str) -> bool:
        return name in self._last and self._count - self._last[name] <= QUIET

    def _is_consequence(self, group: Found) -> bool:
        """Whether the first of them is where an alert gave a new level: its past is made anew."""
        lead = self._targets[min(group, key=lambda i: self._order[i])].name
        return any(
            self._count - since <= 2 * WINDOW and _is_related(lead, told)
            for told, since in self._levels.items()
        )

    def _note_levels(self, leaps: Leaps) -> None:
        stayed = (leaps.high_for == NEW_LEVEL) | (leaps.low_for == NEW_LEVEL)
        for i in np.flatnonzero(stayed).tolist():
            name = self._targets[i].name
            if self._count - self._told.get(name, -WINDOW) < WINDOW:
                self._levels[name] = self._count

    def _alert(self, step: int, group: Found, rate: float | None) -> Alert:
        ordered = sorted(group, key=lambda i: self._order[i])
        first = ordered[0]
        kind, off = group[first]
        self._told[self._targets[first].name] = self._count
        factor = 2.0**off if kind in ("jump", "vanishes") and np.isfinite(off) else None
        others = [self._targets[i].key for i in ordered[1:_MOST_NAMED]]
        return Alert(step, kind, self._targets[first].key, factor, len(group), others, lr=rate)

    def _drift(self, step: int) -> list[Alert]:
        """Growth of 1.5 octaves in a window, nearly all the way up: named by what grew most.

        As a leap, it counts against the others and as a whole: where most of a kind fall back from
        what one batch made of them, those that had stayed calm rise against them and not at all.
        An alert within the window is the cause of what grew in it, and has been said; so it has of
        what goes on growing where an alert named it (the update of a weight, then the weight).
        """
        if self._count % _DRIFT_EVERY != _DRIFT_EVERY - 1:
            return []
        if any(self._count - last <= WINDOW for last in self._last.values()):
            return []
        return self._slow.look(step, self._has_been_negative, self._is_told)

    def _stands_still(self, step: int, values: Floats, table: NDArray[np.float32]) -> list[Alert]:
        """Said unless what was told before is why: gradients of 0 make updates of 0."""
        measured: Mask = table[STATISTICS.index("size")] > 0
        norms = table[STATISTICS.index("norm")].astype(np.float64)
        moves = np.where(self._is_update[: len(norms)], values, norms)
        column = self._still.look(moves, measured)
        told = bool(self._slow.fading) or any(
            self._count - last <= STILL + QUIET for last in self._last.values()
        )
        return [] if column is None or told else [Alert(step, "still", self._targets[column].key)]

    def _is_told(self, column: int) -> bool:
        name = self._targets[column].name
        return column in self._slow.drifting or any(
            self._count - count <= 2 * WINDOW and _is_related(name, told)
            for told, count in self._told.items()
        )

    def _grow(self, new: Sequence[TrendTarget]) -> None:
        self._targets += new
        more = len(self._targets) - len(self._watched)
        ranked = sorted(range(len(self._targets)), key=lambda i: self._targets[i].order)
        self._order = np.argsort(np.asarray(ranked, dtype=np.intp))
        self._watched = np.asarray([t.kind not in _SILENT for t in self._targets])
        self._slow.grow(self._targets)
        self._dies = np.asarray([t.kind not in _AT_TIMES_ZERO for t in self._targets])
        self._past.grow(more)
        self._presence.grow(more)
        self._zeros = np.concatenate([self._zeros, np.zeros(more, np.intp)])
        self._has_been_negative = np.concatenate([self._has_been_negative, np.zeros(more, bool)])
        kinds = np.asarray([t.kind for t in self._targets])
        self._rates.grow(self._targets)
        self._still.grow(self._targets)
        taught = {t.name for t in self._targets if t.kind == "actv_grad"}
        self._untaught = np.asarray(
            [bool(taught) and t.kind == "actv" and t.name not in taught for t in self._targets]
        )
        self._is_loss, self._is_update = kinds == "loss", kinds == "ratio"
        self._is_skip = kinds == "skipped"
        self._begun = np.concatenate([self._begun, np.full(more, np.nan)])
        self._factor = np.where(self._is_loss, _LONE_FACTOR, _NOISE_FACTOR)
        self._averaged = np.isin(kinds, sorted(AVERAGES))
        self._swings = np.isin(kinds, sorted(frozenset().union(*_SPLIT)))
        self._signed = np.isin(kinds, sorted(_SIGNED))
        self._kinds = [np.flatnonzero(kinds == kind) for kind in sorted(set(kinds))]
        self._split = [np.flatnonzero(np.isin(kinds, sorted(group))) for group in _SPLIT]


def _is_related(name: str, other: str) -> bool:
    """Whether one is the other, or inside of it."""
    return name == other or name.startswith(f"{other}.") or other.startswith(f"{name}.")
