"""The first step at which two trainings part, beyond the noise that they had until then.

delta = |log2 a - log2 b| of the norms of a target at a step. Where runs are equal bit by bit at
first, the first difference is the answer. Else delta itself is noise that grows as a power of the
step, so its logarithm is watched: a target parts at the first of four steps that all lie above the
largest of its last 64 by three octaves and four steps of that window's own growth, or at a single
step that lies above by five (what was wrong once is only noise thereafter). Where noise has grown
too large for that, `moves` tells a fault by what is calm in the same step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from builder.series.crossings import losses_through_zero, of_few
from builder.series.decided import first_decided
from builder.series.divergence import MOST_NAMED, Divergence
from builder.series.gone import first_gone
from builder.series.kinks import largest_kinks
from builder.series.limits import Limits
from builder.series.next_dump import module_of
from builder.series.noise import Noise, NoiseError, learnt
from builder.series.octaves import octaves_apart
from builder.series.rerouted import Rerouted, rerouted
from builder.series.rules import FLOOR, HOLD, SETTLE, WINDOW, Judged, Rules
from builder.series.run import Key, TrendRun
from msprobe_core.format.series import DECIDING, KINDS, LEAST_UPDATE

_STRETCH, _BEHIND, _AHEAD = 512, 72, WINDOW
"""Steps that are judged at once (some 200 MB for 2,000 targets), and those before them that their
bands and usual moves are made of: WINDOW and one more, in whole times `moves.RENEWED`, as are both
and SETTLE, so that medians are renewed at the same steps wherever a stretch begins. Among those
ahead HOLD that can be compared are looked for."""
_UPDATES, _LAST_BIT = frozenset({"ratio"}), 2 * LEAST_UPDATE
"""Where no element moves by more than its last bit, rounding decides which of them move: the update
is 0 in one run and not in the other, or as small."""
_UNLIKE = 2.0**5
"""times as far apart as all that is judged: as much as a single step has to leap by (`limits`)."""
_COMPARED = frozenset(KINDS) - DECIDING - {"seconds"}
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def compare_runs(problem: TrendRun, benchmark: TrendRun, noise: Noise | None = None) -> Divergence:
    """Where two runs part: by what they measured, what one of them no longer measures, and what
    was decided otherwise before; `noise` is what a twin has taught of this training.
    """
    paired = _Paired.of(problem, benchmark)
    keys, steps = paired.keys, paired.steps
    if not keys or not len(steps):
        return Divergence("nothing")
    limits = None if noise is None else noise.limits(keys, len(steps))
    found = first_divergence(keys, steps, paired.a, paired.b, paired.context(limits))
    orders = {t.key: t.order for run in (benchmark, problem) for t in run.targets}
    found = found.with_gone(first_gone(problem, benchmark, steps), orders)
    return found.with_decided(first_decided(problem, benchmark, steps))


def learn_noise(twin: TrendRun, training: TrendRun) -> Noise:
    """How far noise carries in a training, by a twin of it that differs in the last bit.

    Raises NoiseError where they are equal, or have too little in common.
    """
    paired = _Paired.of(twin, training)
    first = _first_difference(paired.a, paired.b) if len(paired.steps) else None
    if first is None:
        raise NoiseError(
            f"{twin.path} and {training.path} are equal to the last digit",
            "let one of them begin with other last bits: msprobe trend noise -- SCRIPT does that",
        )
    context = paired.context(None)
    rules, end = Rules.of(paired.keys, context.few), len(paired.steps) - HOLD + 1
    judged = (
        _excesses(each, rows)
        for _, rows, each in _judged(rules, paired.a, paired.b, context, (first + WINDOW, end))
    )
    return learnt(paired.keys, judged, len(paired.steps) - first)


def _excesses(judged: Judged, rows: slice) -> dict[str, Floats]:
    return {
        each.name: np.where(judged.free[rows], getattr(judged.excess, each.name)[rows], -np.inf)
        for each in fields(judged.excess)
    }


@dataclass(frozen=True, slots=True)
class Context:
    """What two runs are judged with: what they computed of other tokens, the octaves that one
    element makes, the targets of a few signed elements, and limits other than the constant ones.
    """

    other: Rerouted | None = None
    kinks: Floats | None = None
    few: NDArray[np.intp] | None = None
    limits: Limits | None = None


@dataclass(frozen=True, slots=True)
class _Paired:
    """What two runs both measured."""

    runs: tuple[TrendRun, TrendRun]
    keys: list[Key]
    steps: NDArray[np.int64]
    a: Floats
    b: Floats

    @classmethod
    def of(cls, problem: TrendRun, benchmark: TrendRun) -> _Paired:
        return cls((problem, benchmark), *aligned(problem, benchmark))

    def context(self, limits: Limits | None) -> Context:
        problem, benchmark = self.runs
        return Context(
            rerouted(problem, benchmark, self.keys, self.steps),
            largest_kinks(problem, self.keys, self.steps),
            np.union1d(of_few(problem, self.keys), losses_through_zero(self.keys, self.a, self.b)),
            limits,
        )


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
    context: Context | None = None,
) -> Divergence:
    """Where [step][target] of two runs part; -inf is a value that was not measured."""
    first = _first_difference(a, b)
    if first is None:
        return Divergence("equal", steps=len(steps))
    if first > 0:
        delta = octaves_apart(a[first], b[first])
        found = np.flatnonzero(delta > 0)
        parted = _parts(keys, steps, first, found, 0.0, float(delta[found[0]]))
        return _with_weight(parted, keys, a[first], b[first])
    context = context or Context()
    for rules, between in _phases(keys, context, len(a) - HOLD + 1):
        for start, rows, judged in _judged(rules, a, b, context, between):
            left = judged.left[rows]
            if left.any():
                at = rows.start + int(np.argmax(left.any(1)))
                found = np.flatnonzero(judged.left[at])
                lead = found[0]
                band = float(judged.expected[at, lead] + rules.limits.rise[lead])
                by = float(judged.delta[at, lead])
                parted = _parts(keys, steps, start + at, found, band, by)
                return _with_weight(parted, keys, a[start + at], b[start + at])
    apart = np.concatenate(
        [octaves_apart(a[low:high], b[low:high]).max(1) for low, high in _stretches(0, len(steps))]
    )
    unjudged = _unjudged(apart)
    return Divergence("noise", delta=float(apart.max()), steps=len(steps), unjudged=unjudged)


def _phases(
    keys: Sequence[Key], context: Context, end: int
) -> Iterator[tuple[Rules, tuple[int, int]]]:
    """The rules and the steps that they hold for: a twin has taught of whole windows alone."""
    taught = context.limits
    if taught is None:
        yield Rules.of(keys, context.few), (SETTLE, end)
        return
    early = replace(Limits.of(keys), jump=taught.jump)
    yield Rules.of(keys, context.few, early), (SETTLE, min(WINDOW, end))
    yield Rules.of(keys, context.few, taught), (WINDOW, end)


def _judged(
    rules: Rules, a: Floats, b: Floats, context: Context, between: tuple[int, int]
) -> Iterator[tuple[int, slice, Judged]]:
    """Stretches of steps as they are judged: where they begin, and the rows that are their own."""
    for low, high in _stretches(*between):
        start = max(0, low - _BEHIND)
        rows = slice(start, high + _AHEAD)
        tokens = None if context.other is None else context.other[rows]
        kinks = None if context.kinks is None else context.kinks[rows]
        judged = rules.judge(a[rows], b[rows], tokens, kinks)
        yield start, slice(low - start, high - start), judged


def _unjudged(apart: Floats) -> int:
    """How many of the first and last steps leap above all that are judged; all where none is.

    Of the last HOLD - 1 nothing tells yet whether they stay where they are.
    """
    end = len(apart) - HOLD + 1
    if end <= SETTLE:
        return len(apart)
    judged = max(float(apart[SETTLE:end].max()), 2.0**FLOOR)
    others = np.concatenate([apart[:SETTLE], apart[end:]])
    return int((others > judged * _UNLIKE).sum())


def _first_difference(a: Floats, b: Floats) -> int | None:
    for low, high in _stretches(0, len(a)):
        differ = (octaves_apart(a[low:high], b[low:high]) > 0).any(1)
        if differ.any():
            return low + int(np.argmax(differ))
    return None


def _stretches(low: int, high: int) -> Iterator[tuple[int, int]]:
    for begin in range(low, high, _STRETCH):
        yield begin, min(begin + _STRETCH, high)


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
