"""Tells other calls that are off by no more than the weights which they read.

Two versions of a program that come to the same by other calls agree in their first step. Their
optimizers make steps of what was rounded otherwise, so their weights are apart in the next one; and
where no call of both runs reads a weight, what reads it is named.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from builder.diagnosis.excess import OF_WEIGHTS
from builder.reasons import (
    Explained,
    ExtraCalls,
    ExtraReplaced,
    MissingCalls,
    MissingReplaced,
    UpdatedAlone,
)
from builder.work.outcome import PairOutcome, StoredFinding

OTHER_CALLS = (ExtraCalls, ExtraReplaced, MissingCalls, MissingReplaced, UpdatedAlone)


def without_carried(
    causes: Iterable[Sequence[StoredFinding]], outcomes: Mapping[int, Sequence[PairOutcome]]
) -> Iterator[list[StoredFinding]]:
    """The findings of each cause without those that are off as the weights are which they read.

    `outcomes` are those of each rank in the order of steps. The same calls were made in the step
    before, nothing of it was named, and its optimizer moved the weights apart by as much.
    """
    steps = {rank: _Steps(own) for rank, own in outcomes.items()}
    for cause in causes:
        left = [one for one in cause if one.rank not in steps or not steps[one.rank].carry(one)]
        if left:
            yield left


class _Steps:
    """One rank's outcomes in the order of steps, with the kinds of change that each shows.

    Thousands of findings of a step ask for the one before: its kinds are gathered once.
    """

    def __init__(self, own: Sequence[PairOutcome]) -> None:
        self._own = own
        self._shown: dict[int, frozenset[str]] = {}

    def carry(self, finding: StoredFinding) -> bool:
        """Whether a finding is of other calls that are off by no more than weights are."""
        if not any(isinstance(reason, OTHER_CALLS) for reason in finding.reasons[:1]):
            return False
        at = bisect_left(self._own, finding.step, key=_step) - 1
        apart = next((r.apart for r in finding.reasons if isinstance(r, Explained)), None)
        if at < 0 or not isinstance(apart, float):
            return False
        before = self._own[at]
        if before.updates_apart is None or (before.findings and not before.heals):
            return False
        is_within = apart <= OF_WEIGHTS * before.updates_apart
        return is_within and not self._kinds(at).isdisjoint(finding.kinds)

    def _kinds(self, at: int) -> frozenset[str]:
        if at not in self._shown:
            self._shown[at] = kinds_shown(self._own[at])
        return self._shown[at]


def kinds_shown(outcome: PairOutcome) -> frozenset[str]:
    """The kinds of change that the nodes of a step show."""
    return frozenset(kind for one in outcome.sightings for kind in one.kinds)


def _step(outcome: PairOutcome) -> int:
    return outcome.step
