"""Findings that are one fault: what ranks say of each other, and what the benchmark says of it.

The two are found on ways of their own. Where one follows from the other by the flow of the step
they are one finding, of which both are said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec import UNSET

from builder.diagnosis.causes import Place
from builder.match.tree import runs_behind_gradients
from builder.ranks.checks.lone_conflicts import LoneConflict
from builder.reasons import Explained, ParameterDiffers, RanksConflict, Reason
from builder.work.outcome import StoredFinding

_STEP = "optimizer"


@dataclass(frozen=True, slots=True)
class StoredConflict:
    """What ranks contradict each other in, as the finding that the result has of it."""

    conflict: LoneConflict
    finding: StoredFinding


def one_a_fault(
    findings: Sequence[StoredFinding], conflicts: Sequence[StoredConflict]
) -> list[StoredFinding]:
    """The findings in order, without those that say anew what an earlier one says."""
    kept = one_a_node(findings)
    for stored in conflicts:
        at = _place_of(stored.finding, kept)
        if at is None:
            continue
        same = [
            index
            for index, other in enumerate(kept)
            if index != at and not _is_of_ranks(other) and _is_one(stored.conflict, kept[at], other)
        ]
        if same:
            one = _joined([kept[index] for index in sorted((at, *same))])
            kept = _with_one(kept, {at, *same}, one)
    return kept


def one_a_node(findings: Sequence[StoredFinding]) -> list[StoredFinding]:
    """The findings in order; what ranks say of a node is said by what else is found there."""
    first: dict[tuple[int, int], int] = {}
    kept: list[StoredFinding] = []
    for finding in findings:
        at = first.setdefault((finding.graph, finding.node), len(kept))
        if at == len(kept) or not _is_of_ranks(finding, kept[at]):
            kept.append(finding)
            continue
        reasons = kept[at].reasons
        if not _is_of_ranks(kept[at]):
            reasons = [*reasons, *finding.reasons]
        count = kept[at].propagated_to + finding.propagated_to
        kept[at] = replace(kept[at], reasons=reasons, propagated_to=count)
    return kept


def _is_of_ranks(*findings: StoredFinding) -> bool:
    """Whether any of some findings is what ranks say of each other."""
    return any(isinstance(one.reasons[0], RanksConflict) for one in findings)


def _place_of(finding: StoredFinding, kept: Sequence[StoredFinding]) -> int | None:
    key = (finding.graph, finding.node)
    return next((at for at, one in enumerate(kept) if (one.graph, one.node) == key), None)


# --- what follows from what ----------------------------------------------------------------------


def _is_one(conflict: LoneConflict, ours: StoredFinding, other: StoredFinding) -> bool:
    """Whether a conflict of ranks, which the finding `ours` says, is the fault of another one."""
    if other.heals:
        return False
    if other.step != ours.step:
        return _is_left_by(conflict, ours, other)
    if conflict.is_shown_by(other.kind, other.name, other.rank):
        return True
    if _is_on_the_way(conflict, ours, other):
        return True
    return not conflict.calls.isdisjoint((other.name, _shown_at(other)))


def _is_left_by(conflict: LoneConflict, ours: StoredFinding, other: StoredFinding) -> bool:
    """Whether the step before, which has a finding on such a rank, left the parameters so.

    What a step reads as parameters the one before wrote.
    """
    is_inherited = conflict.is_of_parameters and other.step < ours.step
    return is_inherited and other.rank in conflict.found.ranks


def _is_on_the_way(conflict: LoneConflict, ours: StoredFinding, other: StoredFinding) -> bool:
    """Whether another finding shows in what an optimizer does with gradients that ranks hold apart.

    The benchmark's ranks agree in these, so that the problem's differ from the benchmark's on one
    rank at least: the calls that update such a parameter read that difference. Where it is so of
    all gradients, what runs between the backward pass and the optimizer made it, or the numbers by
    which ranks scale them.
    """
    is_about = conflict.is_of_gradients or conflict.is_of_scale
    if not is_about or not runs_behind_gradients(other.sort_key):
        return False
    updates = {call for calls in conflict.updates.values() for call in calls}
    if _shown_at(other) in updates:
        return True
    is_of_all = conflict.is_of_scale or ours.name == _STEP
    return is_of_all and other.name not in updates and other.rank in conflict.found.ranks


def _shown_at(finding: StoredFinding) -> str:
    """The call by which a finding tells how far it is off."""
    told = next((r for r in finding.reasons if isinstance(r, Explained)), None)
    return finding.name if told is None or told.at is UNSET else str(told.at)


# --- one of several ------------------------------------------------------------------------------


def _joined(group: Sequence[StoredFinding]) -> StoredFinding:
    """The first of several findings, which says what all of them do."""
    first, *others = group
    places = [_own(one) for one in others if (one.graph, one.node) != (first.graph, first.node)]
    return replace(
        first,
        reasons=[*first.reasons, *_new_reasons(first, others)],
        places=(*first.places, *places, *(place for one in others for place in one.places)),
        propagated_to=sum(one.propagated_to for one in group),
    )


def _new_reasons(first: StoredFinding, others: Sequence[StoredFinding]) -> Iterator[Reason]:
    """What others say that the first does not: that one more parameter differs is a place of it."""
    is_told = any(isinstance(reason, ParameterDiffers) for reason in first.reasons)
    for one in others:
        for reason in one.reasons:
            if not (is_told and isinstance(reason, ParameterDiffers)):
                yield reason


def _with_one(
    kept: Sequence[StoredFinding], same: set[int], one: StoredFinding
) -> list[StoredFinding]:
    """The findings with one in the place of the first of some."""
    first = min(same)
    rest = [finding for index, finding in enumerate(kept) if index not in same]
    return [*rest[:first], one, *rest[first:]]


def _own(finding: StoredFinding) -> Place:
    return Place(finding.step, finding.rank, finding.node, finding.name)
