"""Weights that differ on one rank as they do on another, where their difference has a cause.

Data-parallel ranks add their gradients up, often by calls that nobody records, and make one step
with the sum: what one rank was fed is in the weights of all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from builder.run.rewritten import is_rewritten
from builder.work.outcome import PairOutcome, StoredFinding


def without_replicas(
    listed: Sequence[StoredFinding], outcomes: Iterable[PairOutcome]
) -> list[StoredFinding]:
    """The findings without those of weights that another rank has as well, and from a step before.

    `listed` are those of all ranks. A rank with a finding of its own before has its own cause.
    """
    first: dict[int, int] = {}  # by rank, the place of its first finding
    for place, one in sorted(enumerate(listed), key=lambda each: each[1].step):
        if not one.heals_by_itself:
            first.setdefault(one.rank, place)
    shared = _shared(outcomes) if len(first) > 1 else {}
    gone: set[int] = set()
    explained: dict[int, int] = defaultdict(int)
    for place, finding in enumerate(listed):
        peers = _peers(finding, shared) if _may_be_replica(finding, listed, first) else ()
        causes = [first[p] for p in peers if p in first and listed[first[p]].step < finding.step]
        if causes:
            gone.add(place)
            explained[min(causes)] += finding.propagated_to + 1
    return [
        replace(finding, propagated_to=finding.propagated_to + explained.get(place, 0))
        for place, finding in enumerate(listed)
        if place not in gone
    ]


def _may_be_replica(
    finding: StoredFinding, listed: Sequence[StoredFinding], first: dict[int, int]
) -> bool:
    """Whether it is about weights, and the rank has no finding of a step before."""
    if finding.kind != "parameter_differs" or is_rewritten(finding):
        return False
    own = first.get(finding.rank)
    return own is None or listed[own].step >= finding.step


def _shared(outcomes: Iterable[PairOutcome]) -> dict[tuple[int, Hashable], set[int]]:
    """The ranks whose weights differ in a step, by the step and the fingerprint of each."""
    found: dict[tuple[int, Hashable], set[int]] = defaultdict(set)
    for outcome in outcomes:
        for one in outcome.findings:
            if one.kind == "parameter_differs":
                for print_ in one.inherits - {None}:
                    found[outcome.step, print_].add(outcome.rank)
    return found


def _peers(finding: StoredFinding, shared: dict[tuple[int, Hashable], set[int]]) -> Sequence[int]:
    """The other ranks that have all weights of a finding as they are on its own."""
    ranks = [shared.get((finding.step, print_), set()) for print_ in finding.inherits]
    return sorted(set.intersection(*ranks) - {finding.rank}) if ranks else ()
