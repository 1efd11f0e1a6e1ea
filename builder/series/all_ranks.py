"""Two trainings compared on every rank that both have, and what that rests on.

A series that several ranks wrote has as many lines: activations, losses and gradients are each
rank's own. Where the runs have other ranks, each series is that of its first rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from builder.claim import Claim, Counted, Evidence, claim, together
from builder.series.divergence import Divergence
from builder.series.noise import Noise
from builder.series.parting import compare_runs
from builder.series.pieces import Steps, Values
from builder.series.run import Key, TrendRun
from msprobe_core.format.series import STATISTICS

# How long a step took is no number of the training.
_OF_TIME = frozenset({"seconds"})


@dataclass(frozen=True, slots=True)
class Compared:
    """Where two runs part first, over all ranks; `rank` is None where they compare as one."""

    divergence: Divergence
    rank: int | None
    evidence: Evidence

    @property
    def claim(self) -> Claim:
        """What may be said of the two runs."""
        return claim(self.evidence)


def compare_all(problem: TrendRun, benchmark: TrendRun, noise: Noise | None = None) -> Compared:
    """Where two runs part, over the ranks, steps and series that both have; `noise` as a twin
    taught it.
    """
    pairs = list(_paired(problem, benchmark))
    found = [(compare_runs(*sides, noise), rank, sides) for rank, sides in pairs]
    first, rank, _ = min(found, key=lambda each: _order(each[0]))
    steps = max(each.steps for each, _, _ in found)
    evidence = together(_evidence(each, *sides) for each, _, sides in found)
    evidence = evidence.with_gaps(*_lone_ranks(problem, benchmark))
    return Compared(replace(first, steps=steps), rank if len(pairs) > 1 else None, evidence)


def _paired(
    problem: TrendRun, benchmark: TrendRun
) -> Iterator[tuple[int | None, tuple[TrendRun, TrendRun]]]:
    if list(problem.ranks) != list(benchmark.ranks) or len(problem.ranks) < 2:
        yield None, (problem, benchmark)
        return
    for rank in problem.ranks:
        yield rank, (problem.of_rank(rank), benchmark.of_rank(rank))


def _order(found: Divergence) -> tuple[int, float]:
    """What is told first: the earliest step at which runs part, else the largest difference."""
    kinds = {"parts": 0, "noise": 1, "equal": 2, "nothing": 3}
    by = float(found.step or 0) if found.verdict == "parts" else -found.delta
    return kinds[found.verdict], by


def _lone_ranks(problem: TrendRun, benchmark: TrendRun) -> Iterator[Counted]:
    """Ranks whose own lines were not compared, for the runs have not the same ranks."""
    if list(problem.ranks) == list(benchmark.ranks):
        return
    for run in (problem, benchmark):
        lone = [
            rank for rank in run.ranks if any(run.home(key) != rank for key in _keys(run, rank))
        ]
        if lone:
            yield Counted("only_rank", len(lone), f"rank {lone[0]} of {run.path}")


def _keys(run: TrendRun, rank: int) -> list[Key]:
    return [target.key for target in run.ranks[rank].targets]


def _evidence(found: Divergence, problem: TrendRun, benchmark: TrendRun) -> Evidence:
    ours, theirs = (
        [t.key for t in run.targets if t.kind not in _OF_TIME] for run in (problem, benchmark)
    )
    shared = set(ours) & set(theirs)
    keys = [key for key in ours if key in shared]
    unset = set(found.unset)
    lone = [key for key in (*ours, *theirs) if key not in shared and key not in unset]
    steps = np.intersect1d(problem.steps, benchmark.steps)
    gaps = [
        Counted("only_series", len(lone), " ".join(lone[0]) if lone else ""),
        Counted("unset_series", len(unset), " ".join(found.unset[0]) if unset else ""),
        Counted("only_steps", len(np.setxor1d(problem.steps, benchmark.steps))),
    ]
    if found.verdict == "nothing":
        return Evidence().with_gaps(*gaps)
    points, one_sided = _points(problem, benchmark, steps, keys)
    compared = (Counted("points", points),) if points else ()
    evidence = Evidence(compared, explained=int(found.verdict == "noise"))
    evidence = evidence.with_gaps(*gaps, Counted("only_points", one_sided))
    if found.verdict == "parts":
        return evidence.with_differences(Counted("parted", found.count))
    unjudged = Counted("unjudged", found.unjudged)
    if found.verdict == "noise":
        return evidence.with_differences(unjudged)
    return evidence.with_differences(_others(problem, benchmark, steps, keys))


def _points(
    problem: TrendRun, benchmark: TrendRun, steps: Steps, keys: Sequence[Key]
) -> tuple[int, int]:
    """How many norms both runs measured, and how many one of them alone."""
    ours, theirs = (run.values_at(steps, keys) != -np.inf for run in (problem, benchmark))
    return int((ours & theirs).sum()), int((ours ^ theirs).sum())


def _others(problem: TrendRun, benchmark: TrendRun, steps: Steps, keys: Sequence[Key]) -> Counted:
    """Numbers beside the norms, and of settings, that differ where all norms are equal."""
    count, first = 0, ""
    for statistic in STATISTICS:
        ours, theirs = (run.values_at(steps, keys, statistic) for run in (problem, benchmark))
        apart = np.argwhere(~_same(ours, theirs))
        if len(apart) and not first:
            step, key = apart[0]
            first = f"{statistic} of {' '.join(keys[key])} in step {steps[step]}"
        count += len(apart)
    return Counted("other_numbers", count, first)


def _same(ours: Values, theirs: Values) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    lone = (ours == -np.inf) ^ (theirs == -np.inf)  # told as a gap
    return np.asarray((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)) | lone)
