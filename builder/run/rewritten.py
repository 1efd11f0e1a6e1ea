"""Names weights that one run alone has written between two steps, or not taken over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

from builder.flow.weights import handed_on
from builder.reasons import Reason, Rewritten, RewrittenOn, RewrittenThere, same_of
from builder.work.outcome import PairOutcome, Reader, StoredFinding

_Rewriting: TypeAlias = Rewritten | RewrittenOn | RewrittenThere


def is_rewritten(finding: StoredFinding) -> bool:
    """Whether a finding says that weights are not what the step before left."""
    return any(isinstance(reason, _Rewriting) for reason in finding.reasons)


def with_rewritten(outcomes: Sequence[PairOutcome]) -> list[PairOutcome]:
    """One rank's outcomes in the order of steps, with a finding where weights do not go on.

    One a step: where the diagnosis has a finding about such a parameter, that one says it too.
    """
    told = list(outcomes[:1])
    for previous, outcome in pairwise(outcomes):
        told.append(_told(previous, outcome))
    return told


def _told(previous: PairOutcome, outcome: PairOutcome) -> PairOutcome:
    if outcome.step != previous.step + 1 or not (previous.weights and outcome.weights):
        return outcome
    ours, theirs = map(handed_on, previous.weights, outcome.weights)
    # What the other run does not tell, or does as well, says nothing.
    own = sorted(ours.rewritten.keys() & theirs.kept)
    other = sorted(theirs.rewritten.keys() & ours.kept)
    if not own and not other:
        return outcome
    ranks = {rank for place in own for rank in ours.rewritten[place]}
    reason = _reason(previous.step, sorted(ranks) if own else None, outcome.coordinates)
    readers = [outcome.readers[place] for place in own or other]
    return replace(outcome, findings=_added(outcome, readers, reason))


def _reason(step: int, ranks: list[int] | None, coordinates: Mapping[int, str]) -> _Rewriting:
    """What is said of weights that the problem run has rewritten, on some ranks, or the other."""
    if ranks is None:
        return RewrittenThere(step)
    if not coordinates:
        return Rewritten(step)
    where = "; ".join(coordinates[rank] for rank in ranks)
    return RewrittenOn(step, ", ".join(map(str, ranks)), where)


def _added(
    outcome: PairOutcome, readers: list[Reader], reason: Reason
) -> tuple[StoredFinding, ...]:
    nodes = {reader.node for reader in readers}
    findings = list(outcome.findings)
    for at, finding in enumerate(findings):
        if finding.kind == "parameter_differs" and finding.node in nodes:
            findings[at] = replace(finding, reasons=[*finding.reasons, reason])
            return tuple(findings)
    first = min(readers, key=lambda reader: reader.sort_key)
    reasons = [reason, *same_of([r.name for r in readers if r is not first])]
    return (_finding(outcome, first, reasons), *findings)


def _finding(outcome: PairOutcome, reader: Reader, reasons: list[Reason]) -> StoredFinding:
    return StoredFinding(
        step=outcome.step,
        rank=outcome.rank,
        graph=outcome.graphs[0],
        node=reader.node,
        name=reader.name,
        kind="parameter_differs",
        is_api=False,
        sort_key=reader.sort_key,
        score=reader.score,
        input_score=None,
        introduced=reader.score,
        reasons=reasons,
        propagated_to=0,
    )
