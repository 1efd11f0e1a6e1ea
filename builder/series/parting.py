"""The first step at which two trainings part, beyond the noise that they had until then.

delta = |log2 a - log2 b| of the norms of a target at a step. Where runs are equal bit by bit at
first, the first difference is the answer. Else delta itself is noise that grows as a power of the
step, so its logarithm is watched: a target parts at the first of four steps that all lie above the
largest of its last 64 by three octaves and four steps of that window's own growth, or at a single
step that lies above by five (what was wrong once is only noise thereafter). Where noise has grown
too large for that, `moves` tells a fault by what is calm in the same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from builder.series.kinks import largest_kinks
from builder.series.moves import moved_alone
from builder.series.rerouted import Rerouted, rerouted
from builder.series.run import Key, TrendRun
from msprobe_core.format.series import KINDS

WINDOW, HOLD, SETTLE = 64, 4, 16
"""Steps that make the band, that have to leave it, and that come before any is judged."""
_FLOOR = -21.0
"""log2 of the least delta: a norm of float32 has 23 bits, and its root and sums lose some. Two that
were the same for a while and then differ in the last of them have not moved."""
_APART = 64.0
"""delta where only one side is finite: more octaves than float32 norms of one target differ by."""
_RISE, _LEAP, _RISE_OF_AVERAGES = 3.0, 5.0, 6.0
"""Octaves above the largest so far, for four steps and for one. Six sound pairs of
`tests/trend_cases/pairs.py` (weights off by 1e-6 and 1e-4 of themselves, 230 steps) rose by 2.6 and
3.6 at most; averages over many steps, whose four steps are hardly more than one, by 4.3."""
_AVERAGES = frozenset({"exp_avg", "exp_avg_sq", "ratio"})
_AT_TIMES_ZERO = frozenset({"ratio"})
"""An update below the resolution of its weight is 0 in one run and not in the other."""
_COMPARED = frozenset(KINDS) - {"seconds", "lr", "loss_scale", "skipped", "clip"}
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Verdict = Literal["equal", "parts", "noise", "nothing"]


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two runs part.

    `equal`: to the last digit. `parts`: at `step`, first in `target`; `count` targets part there;
    `band` and `delta` are octaves (0 where they were equal until then). `noise`: within it; `delta`
    is then the largest. `nothing`: no step and target in both.
    """

    verdict: Verdict
    step: int | None = None
    target: Key | None = None
    count: int = 0
    band: float = 0.0
    delta: float = 0.0
    others: tuple[Key, ...] = ()
    steps: int = 0


def compare_runs(problem: TrendRun, benchmark: TrendRun) -> Divergence:
    """Where two runs part, over the steps and targets that both have."""
    keys, steps, a, b = aligned(problem, benchmark)
    if not keys or not len(steps):
        return Divergence("nothing")
    other = rerouted(problem, benchmark, keys, steps)
    return first_divergence(keys, steps, a, b, other, largest_kinks(problem, keys, steps))


def aligned(
    problem: TrendRun, benchmark: TrendRun
) -> tuple[list[Key], NDArray[np.int64], Floats, Floats]:
    """The targets of both in the order of a step, their steps, and [step][target] of each run."""
    theirs = {target.key for target in benchmark.targets}
    keys = [t.key for t in problem.targets if t.key in theirs and t.kind in _COMPARED]
    steps = np.intersect1d(problem.steps, benchmark.steps)
    a, b = (run.values_at(steps, keys) for run in (problem, benchmark))
    columns = [i for i, (kind, _) in enumerate(keys) if kind in _AT_TIMES_ZERO]
    for values in (a, b):
        values[:, columns] = np.where(values[:, columns] == 0, -np.inf, values[:, columns])
    return keys, steps, a.astype(np.float64), b.astype(np.float64)


def first_divergence(
    keys: Sequence[Key],
    steps: NDArray[np.int64],
    a: Floats,
    b: Floats,
    other: Rerouted | None = None,
    kinks: Floats | None = None,
) -> Divergence:
    """Where [step][target] of two runs part; -inf is a value that was not measured.

    `other` is what they computed of other tokens, `kinks` the octaves that one element makes.
    """
    delta = octaves_apart(a, b)
    if not (delta > 0).any():
        return Divergence("equal", steps=len(steps))
    first = int(np.argmax((delta > 0).any(1)))
    if first > 0:
        found = np.flatnonzero(delta[first] > 0)
        return _parts(keys, steps, first, found, 0.0, float(delta[first, found[0]]))
    nowhere = np.zeros(a.shape, dtype=bool)
    other = other or Rerouted(nowhere, nowhere)
    small = nowhere if kinks is None else delta <= kinks
    rules = _Rules.of(keys, delta, moved_alone(keys, a, b), other, small)
    carried = 0.0
    for at in range(SETTLE, len(steps) - HOLD + 1):
        left, usual, carried = rules.judge(at, carried)
        found = np.flatnonzero(left)
        if len(found):
            lead = found[0]
            band = float(usual[lead] + rules.rise[lead])
            return _parts(keys, steps, at, found, band, float(delta[at, lead]))
    return Divergence("noise", delta=float(delta.max()), steps=len(steps))


@dataclass(frozen=True, slots=True)
class _Rules:
    """What a step is judged by, each [step][target] or [target]."""

    y: Floats
    """log2 of delta."""
    past: Floats
    """The same as far as it makes bands."""
    moved: Mask
    excused: Mask
    rise: Floats
    leap: Floats
    weights: NDArray[np.intp]
    """The targets by which a step reaches the next one."""

    @classmethod
    def of(
        cls, keys: Sequence[Key], delta: Floats, moved: Mask, other: Rerouted, small: Mask
    ) -> _Rules:
        y = np.log2(np.maximum(delta, 2.0**_FLOOR))
        kinds = np.asarray([kind for kind, _ in keys])
        averaged = np.isin(kinds, sorted(_AVERAGES))
        weights = np.flatnonzero(kinds == "param")
        return cls(
            y,
            np.where(other.aside, _FLOOR, y),
            moved & ~other.aside,
            other.aside | other.kept | small,
            np.where(averaged, _RISE_OF_AVERAGES, _RISE),
            np.where(averaged, np.inf, _LEAP),
            weights if len(weights) else np.arange(len(keys)),
        )

    def judge(self, at: int, carried: float) -> tuple[Mask, Floats, float]:
        """Which targets part, their bands, and how far weights have left theirs.

        A target counts as far as it leaves its band farther than what comes before it in the step,
        and than the weights did in the step before.
        """
        usual = _band(self.past[max(0, at - WINDOW) : at])
        excess = self.y[at] - usual
        before = np.maximum.accumulate(np.concatenate([[carried], excess[:-1]]))
        expected = usual + before
        left = (self.y[at : at + HOLD] > expected + self.rise).all(0)
        left |= self.y[at] > expected + self.leap
        left |= self.moved[at]
        return left & ~self.excused[at], expected, max(0.0, float(excess[self.weights].max()))


def octaves_apart(a: Floats, b: Floats) -> Floats:
    """|log2 a/b|: 0 where they are equal or one was not measured, 64 where one is not finite."""
    with np.errstate(all="ignore"):
        delta = np.abs(np.log2(np.abs(a)) - np.log2(np.abs(b)))
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (a == -np.inf) | (b == -np.inf)
    apart: Floats = np.where(same, 0.0, np.where(np.isfinite(delta), delta, _APART))
    return apart


def _band(window: Floats) -> Floats:
    """The largest so far, and as much more as the window itself grows in four steps."""
    at = np.arange(len(window)) - (len(window) - 1) / 2
    slope = (at[:, None] * (window - window.mean(0))).sum(0) / (at**2).sum()
    band: Floats = window.max(0) + np.maximum(slope, 0) * HOLD
    return band


def _parts(
    keys: Sequence[Key],
    steps: NDArray[np.int64],
    at: int,
    found: NDArray[np.intp],
    band: float,
    delta: float,
) -> Divergence:
    others = tuple(keys[i] for i in found[1:21])
    return Divergence(
        "parts", int(steps[at]), keys[found[0]], len(found), band, delta, others, len(steps)
    )
