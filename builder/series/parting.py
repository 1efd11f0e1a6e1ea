"""The first step at which two trainings part, beyond the noise that they had until then.

delta = |log2 a - log2 b| of the norms of a target at a step. Where runs are equal bit by bit at
first, the first difference is the answer. Else delta itself is noise that grows as a power of the
step, so its logarithm is watched: a target parts at the first of four steps that all lie above the
largest of its last 64 by three octaves and four steps of that window's own growth, or at a single
step that lies above by five (what was wrong once is only noise thereafter). Where noise has grown
too large for that, `moves` tells a fault by what is calm in the same step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from builder.series.crossings import losses_through_zero, of_few, shares_of_usual
from builder.series.decided import first_decided
from builder.series.divergence import MOST_NAMED, Divergence
from builder.series.expert_shifts import shifts_of_experts
from builder.series.gone import first_gone
from builder.series.kinks import largest_kinks
from builder.series.moves import moved_alone
from builder.series.next_dump import module_of
from builder.series.rerouted import Rerouted, rerouted
from builder.series.run import Key, TrendRun
from builder.series.sliding import sliding
from msprobe_core.format.series import DECIDING, KINDS, LEAST_UPDATE

WINDOW, HOLD, SETTLE = 64, 4, 16
"""Steps that make the band, that have to leave it, and that come before any is judged."""
_STRETCH, _BEHIND, _AHEAD = 512, 72, WINDOW
"""Steps that are judged at once (some 200 MB for 2,000 targets), and those before them that their
bands and usual moves are made of: WINDOW and one more, in whole times `moves.RENEWED`, as are both
and SETTLE, so that medians are renewed at the same steps wherever a stretch begins. Among those
ahead HOLD that can be compared are looked for."""
_FLOOR = -21.0
"""log2 of the least delta: a norm of float32 has 23 bits, and its root and sums lose some. Two that
were the same for a while and then differ in the last of them have not moved."""
APART = 64.0
"""delta where only one side is finite, or not 0: more octaves than float32 norms of one target
differ by."""
_RISE, _LEAP, _RISE_OF_AVERAGES = 3.0, 5.0, 6.0
"""Octaves above the largest so far, for four steps and for one. Six sound pairs of
`evaluation/trend_cases/pairs.py` (weights off by 1e-6 and 1e-4 of themselves, 230 steps) rose by
2.6 and 3.6 at most; averages over many steps, whose four steps are hardly more than one, by 4.3."""
_SETTLED, _SETTLED_LEAP = -4.0, 2.0
"""Noise of 2^-4 octaves (4 %) grows no more: two such trainings are as unlike as they become. There
outputs, losses, gradients and weights of 33 sound pairs (`evaluation/trend_cases/unseen.py`, seeds
23 to 25) rose in one step by one octave at most, gradients of outputs by 1.8."""
_BOUNDED = frozenset({"actv", "loss", "grad", "param"})
_NEVER = -1000.0
_AVERAGES = frozenset({"exp_avg", "exp_avg_sq", "ratio"})
_UPDATES, _LAST_BIT = frozenset({"ratio"}), 2 * LEAST_UPDATE
"""Where no element moves by more than its last bit, rounding decides which of them move: the update
is 0 in one run and not in the other, or as small."""
_COMPARED = frozenset(KINDS) - DECIDING - {"seconds"}
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def compare_runs(problem: TrendRun, benchmark: TrendRun) -> Divergence:
    """Where two runs part: by what they measured, what one of them no longer measures, and what
    was decided otherwise before.
    """
    keys, steps, a, b = aligned(problem, benchmark)
    if not keys or not len(steps):
        return Divergence("nothing")
    other = rerouted(problem, benchmark, keys, steps)
    kinks = largest_kinks(problem, keys, steps)
    few = np.union1d(of_few(problem, keys), losses_through_zero(keys, a, b))
    found = first_divergence(keys, steps, a, b, other, kinks, few)
    orders = {t.key: t.order for run in (benchmark, problem) for t in run.targets}
    found = found.with_gone(first_gone(problem, benchmark, steps), orders)
    return found.with_decided(first_decided(problem, benchmark, steps))


def aligned(
    problem: TrendRun, benchmark: TrendRun
) -> tuple[list[Key], NDArray[np.int64], Floats, Floats]:
    """The targets of both in the order of a step, their steps, and [step][target] of each run."""
    theirs = {target.key for target in benchmark.targets}
    keys = [t.key for t in problem.targets if t.key in theirs and t.kind in _COMPARED]
    steps = np.intersect1d(problem.steps, benchmark.steps)
    a, b = (run.values_at(steps, keys) for run in (problem, benchmark))
    columns = [i for i, (kind, _) in enumerate(keys) if kind in _UPDATES]
    for values in (a, b):
        updates = values[:, columns]
        measured = (updates != 0) & (updates != -np.inf)
        values[:, columns] = np.where(measured, np.maximum(updates, _LAST_BIT), -np.inf)
    return keys, steps, a.astype(np.float64), b.astype(np.float64)


def first_divergence(
    keys: Sequence[Key],
    steps: NDArray[np.int64],
    a: Floats,
    b: Floats,
    other: Rerouted | None = None,
    kinks: Floats | None = None,
    few: NDArray[np.intp] | None = None,
) -> Divergence:
    """Where [step][target] of two runs part; -inf is a value that was not measured.

    `other` is what they computed of other tokens, `kinks` the octaves that one element makes, `few`
    the targets of a few signed elements.
    """
    first = _first_difference(a, b)
    if first is None:
        return Divergence("equal", steps=len(steps))
    if first > 0:
        delta = octaves_apart(a[first], b[first])
        found = np.flatnonzero(delta > 0)
        parted = _parts(keys, steps, first, found, 0.0, float(delta[found[0]]))
        return _with_weight(parted, keys, a[first], b[first])
    rules = _Rules.of(keys, few)
    for low, high in _stretches(SETTLE, len(steps) - HOLD + 1):
        rows = slice(max(0, low - _BEHIND), high + _AHEAD)
        tokens = None if other is None else other[rows]
        judged = rules.judge(a[rows], b[rows], tokens, None if kinks is None else kinks[rows])
        left = judged.left[low - rows.start : high - rows.start]
        if left.any():
            at = low - rows.start + int(np.argmax(left.any(1)))
            found = np.flatnonzero(judged.left[at])
            lead = found[0]
            band = float(judged.expected[at, lead] + rules.rise[lead])
            delta = judged.delta[at, lead]
            parted = _parts(keys, steps, rows.start + at, found, band, float(delta))
            return _with_weight(parted, keys, a[rows.start + at], b[rows.start + at])
    apart = np.concatenate(
        [octaves_apart(a[low:high], b[low:high]).max(1) for low, high in _stretches(0, len(steps))]
    )
    unjudged = _unjudged(apart)
    return Divergence("noise", delta=float(apart.max()), steps=len(steps), unjudged=unjudged)


def _unjudged(apart: Floats) -> int:
    """How many of the first and last steps leap above all that are judged; all where none is.

    Of the last HOLD - 1 nothing tells yet whether they stay where they are.
    """
    end = len(apart) - HOLD + 1
    if end <= SETTLE:
        return len(apart)
    judged = max(float(apart[SETTLE:end].max()), 2.0**_FLOOR)
    others = np.concatenate([apart[:SETTLE], apart[end:]])
    return int((others > judged * 2.0**_LEAP).sum())


def _first_difference(a: Floats, b: Floats) -> int | None:
    for low, high in _stretches(0, len(a)):
        differ = (octaves_apart(a[low:high], b[low:high]) > 0).any(1)
        if differ.any():
            return low + int(np.argmax(differ))
    return None


def _stretches(low: int, high: int) -> Iterator[tuple[int, int]]:
    for begin in range(low, high, _STRETCH):
        yield begin, min(begin + _STRETCH, high)


@dataclass(frozen=True, slots=True)
class _Judged:
    """[step][target]: which targets part, what was expected of log2 of delta, and delta."""

    left: Mask
    expected: Floats
    delta: Floats


@dataclass(frozen=True, slots=True)
class _Rules:
    """What targets are judged by, each [target]."""

    keys: Sequence[Key]
    rise: Floats
    leap: Floats
    bounded: Mask
    """Those whose noise settles."""
    weights: NDArray[np.intp]
    """The targets by which a step reaches the next one."""
    few: NDArray[np.intp]
    """Those that pass through zero."""

    @classmethod
    def of(cls, keys: Sequence[Key], few: NDArray[np.intp] | None = None) -> _Rules:
        kinds = np.asarray([kind for kind, _ in keys])
        averaged = np.isin(kinds, sorted(_AVERAGES))
        weights = np.flatnonzero(kinds == "param")
        return cls(
            keys,
            np.where(averaged, _RISE_OF_AVERAGES, _RISE),
            np.where(averaged, np.inf, _LEAP),
            np.isin(kinds, sorted(_BOUNDED)),
            weights if len(weights) else np.arange(len(keys)),
            np.zeros(0, np.intp) if few is None else few,
        )

    def judge(self, a: Floats, b: Floats, other: Rerouted | None, kinks: Floats | None) -> _Judged:
        """Judge steps that follow each other; the first of them may lack what lies behind them.

        A target counts as far as it leaves its band farther than what comes before it in the step,
        and than the weights did in the step before.
        """
        other = other or Rerouted.nowhere(*a.shape)
        shares = shares_of_usual(a, b, self.few)
        delta = octaves_apart(a, b) * shares
        y = np.log2(np.maximum(delta, 2.0**_FLOOR))
        usual = _bands(np.where(other.aside, _FLOOR, y))
        excess = y - usual
        before = self._before(excess)
        expected = usual + before
        left = _held(y, other.aside) > expected + self.rise
        left |= (y > expected + self.leap) & ~other.unsure
        # Where noise has settled, tokens that change places are part of it.
        sure = self._before(np.where(other.aside | other.unsure, _NEVER, excess))
        settled = (usual >= _SETTLED) & self.bounded & ~other.unsure
        left |= settled & (y > usual + sure + _SETTLED_LEAP)
        left |= moved_alone(self.keys, np.where(other.aside, np.nan, a), b, shares)
        left &= ~(other.aside | other.kept)
        if kinks is not None:
            left &= delta > kinks
        shifted, limits = shifts_of_experts(other.apart, other.aside, sure)
        expected = np.where(shifted, limits - self.rise, expected)
        delta = np.where(shifted, np.abs(other.apart), delta)
        return _Judged(left | shifted, expected, delta)

    def _before(self, excess: Floats) -> Floats:
        """By how much what a step makes before each target left its band, and the weights before
        the step theirs.
        """
        carried = np.zeros((len(excess), 1))
        carried[SETTLE + 1 :, 0] = np.maximum(0, excess[SETTLE:-1, self.weights].max(1))
        before: Floats = np.maximum.accumulate(np.concatenate([carried, excess[:, :-1]], 1), axis=1)
        return before


def octaves_apart(a: Floats, b: Floats) -> Floats:
    """|log2 a/b|: 0 where they are equal or one was not measured, 64 where one is not finite.

    Between two signs lies no number of octaves: there it is |a - b| in those of the smaller one,
    d log2 x = dx / (x ln 2), 64 at most.
    """
    with np.errstate(all="ignore"):
        size, other = np.abs(a), np.abs(b)
        delta = np.abs(np.log2(size) - np.log2(other))
        other_side = (np.sign(a) * np.sign(b) < 0) & np.isfinite(delta)
        if other_side.any():
            through_zero = (size + other) / (np.minimum(size, other) * math.log(2))
            delta = np.where(other_side, np.minimum(through_zero, APART), delta)
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (a == -np.inf) | (b == -np.inf)
    apart: Floats = np.where(same, 0.0, np.where(np.isfinite(delta), delta, APART))
    return apart


def _held(y: Floats, aside: Mask) -> Floats:
    """The least of HOLD steps from each one on that can be compared; -inf where there are fewer."""
    held = np.full(y.shape, -np.inf)
    least = sliding(np.minimum, y, HOLD)
    held[: len(least)] = least
    for column in np.flatnonzero(aside.any(0)):
        known = np.flatnonzero(~aside[:, column])
        least = sliding(np.minimum, y[known, column], HOLD)
        held[:, column] = -np.inf
        held[known[: len(least)], column] = least
    return held


def _bands(past: Floats) -> Floats:
    """For each step the largest of the WINDOW before it, and as much more as these grow in HOLD
    steps.
    """
    at = np.arange(len(past))[:, None]
    count = np.minimum(at, WINDOW)
    nothing = np.zeros((1, past.shape[1]))
    total, weighted = (
        np.concatenate([nothing, np.cumsum(each, axis=0)]) for each in (past, at * past)
    )
    begin = (at - count)[:, 0]
    total, weighted = (each[:-1] - each[begin] for each in (total, weighted))
    # The least squares of places r-n to r-1, whose mean is r-(n+1)/2 and whose squares add up so.
    slope = weighted - (at - (count + 1) / 2) * total
    slope /= np.maximum(count * (count**2 - 1.0) / 12, 1)
    before = np.concatenate([np.full((WINDOW, past.shape[1]), _FLOOR), past[:-1]])
    bands: Floats = sliding(np.maximum, before, WINDOW) + np.maximum(slope, 0) * HOLD
    return bands


def _parts(
    keys: Sequence[Key],
    steps: NDArray[np.int64],
    at: int,
    found: NDArray[np.intp],
    band: float,
    delta: float,
) -> Divergence:
    others = tuple(keys[i] for i in found[1 : MOST_NAMED + 1])
    return Divergence(
        "parts", int(steps[at]), keys[found[0]], len(found), band, delta, others, len(steps)
    )


def _with_weight(parted: Divergence, keys: Sequence[Key], a: Floats, b: Floats) -> Divergence:
    """The divergence with the weight that explains its target; `a` and `b` are of its step.

    A step's weights are those that its update left. The update after an output that differs moves
    them by parts of a percent, so half of the octaves that the output is apart by are not its work.
    """
    target = parted.target
    module = None if target is None else module_of(target)
    own = [
        i
        for i, key in enumerate(keys)
        if key[0] == "param" and key != target and module is not None and module_of(key) == module
    ]
    if not own:
        return parted
    apart = octaves_apart(a[own], b[own])
    most = int(np.argmax(apart))
    there = a[own[most]], b[own[most]]
    if apart[most] < parted.delta / 2 or not all(np.isfinite(v) and v > 0 for v in there):
        return parted
    return replace(parted, weight=keys[own[most]], factor=float(there[0] / there[1]))
