"""What the gradients that optimizers read say of their reduction: over whom, and by what factor."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from builder.ranks.checks.check_finding import CheckFinding, axis_of, listed
from builder.ranks.joining.parts import RunValues
from builder.ranks.placement.gradients import (
    Reduction,
    divided_twice,
    owners_reading_own,
    unusual_factors,
)
from builder.ranks.placement.mixtures import one_for_unlike, sums_of_unlike
from builder.ranks.placement.origins import origin
from builder.reasons import (
    AllDividedTwice,
    DividedTooOften,
    GradientApart,
    GradientApartSomewhere,
    OwnAddedToWhole,
    OwnerReadsOwn,
    OwnGradient,
    OwnGradientOver,
    RankReason,
    ReducedTooOften,
    ReplicasDiffer,
    ReplicasUnlike,
    SharesUpdatedAsOne,
    UnlikeAdded,
)

_SHOWN = 4


def wrong_reductions(
    step: int, values: RunValues, known: Mapping[str, Reduction], reported: Collection[str]
) -> Iterator[CheckFinding]:
    """Gradients of unlike parameters in one sum, and gradients reduced otherwise than most.

    `reported` are the nodes of parameters of which ranks hold unlike copies: they say nothing.
    """
    yield from _mixtures(step, values, reported)
    layout = values.run.layout
    alone = {found.node for found, _, _ in owners_reading_own(known)}
    for each in unusual_factors(known, layout.sizes):
        found = each.found
        if found.node in reported or found.node in alone:
            continue
        start, _ = values.run.dump.ranges[found.node]
        ranks = tuple(sorted(part.rank for part in values.run.parts[start]))
        facts = (found.factor, _named(found.axes), each.peers, each.usual, each.times)
        said = ReducedTooOften(*facts) if each.times > 1 else DividedTooOften(*facts)
        axis = found.axes[0] if found.axes else "?"
        where = layout.describe_all(ranks)
        yield CheckFinding("update", step, found.node, axis, ranks, where, (said,))


def wrong_divisors(
    step: int, values: RunValues, known: Mapping[str, Reduction]
) -> Iterator[CheckFinding]:
    """Gradients that owners of a parameter did not add up, and those that all divided twice."""
    layout = values.run.layout
    for found, axis, peers in owners_reading_own(known):
        where = layout.describe_all(found.owners)
        own = OwnerReadsOwn(found.owners[0], axis, peers)
        yield CheckFinding("update", step, found.node, axis, found.owners, where, (own,))
    twice = divided_twice(known, values)
    if twice is not None:
        found, size = twice
        ranks = tuple(sorted(layout.places))
        said = AllDividedTwice(found.factor, _named(found.axes), size)
        where, axis = layout.describe_all(ranks), found.axes[0]
        yield CheckFinding("update", step, found.node, axis, ranks, where, (said,))


def explained(
    findings: Sequence[CheckFinding], known: Mapping[str, Reduction]
) -> Iterator[CheckFinding]:
    """The findings, with what unlike copies of a gradient are where its reduction tells it."""
    by_node = {reduction.node: reduction for reduction in known.values()}
    for finding in findings:
        found = by_node.get(finding.node)
        if found is None or not is_of(finding, "input.gradient") or finding.axis in found.axes:
            yield finding
            continue
        axes = _named(found.axes)
        own = OwnGradientOver(axes, finding.axis) if found.axes else OwnGradient()
        yield replace(finding, reasons=(*finding.reasons, own))


def is_of(finding: CheckFinding, key: str) -> bool:
    """Whether a finding is that replicas of one kind of value are unlike."""
    return any(
        isinstance(reason, ReplicasDiffer | ReplicasUnlike) and reason.value == key
        for reason in finding.reasons
    )


def beginning(
    step: int,
    values: RunValues,
    findings: Sequence[CheckFinding],
    known: Mapping[str, Reduction],
) -> Iterator[CheckFinding]:
    """Where gradients begin to be one rank's part along tp, where optimizers read such parts."""
    by_node = {reduction.node: reduction for reduction in known.values()}
    nodes = {
        finding.node
        for finding in findings
        if finding.axis == "tp" and is_of(finding, "input.gradient")
    }
    own = {by_node[n].parameter for n in nodes if n in by_node and "tp" not in by_node[n].axes}
    found = origin(values, "tp", own) if own else None
    if found is None:
        return
    start, _ = values.run.dump.ranges[found.whole]
    ranks = tuple(sorted(part.rank for part in values.run.parts[start]))
    said: RankReason
    if not found.of_gradient:
        said = OwnAddedToWhole(found.reader, "tp", found.whole, len(own))
    elif found.reader:
        said = GradientApart(found.whole, "tp", found.reader)
    else:
        said = GradientApartSomewhere(found.whole, "tp")
    where = values.run.layout.describe_all(ranks)
    yield CheckFinding("partial", step, found.module, "tp", ranks, where, (said,))


def _named(axes: Sequence[str]) -> str:
    return " and ".join(axes) or "none"


def _mixtures(step: int, values: RunValues, reported: Collection[str]) -> Iterator[CheckFinding]:
    layout, named = values.run.layout, set()
    for found in sums_of_unlike(values):
        ranks = tuple(sorted(found.names))
        named |= set(found.names.values())
        names = listed((f"{found.names[rank]} on rank {rank}" for rank in ranks), _SHOWN)
        axis, where = axis_of(layout, ranks) or "?", layout.describe_all(ranks)
        said = UnlikeAdded(names)
        yield CheckFinding("collective", step, found.call, axis, ranks, where, (said,))
    for one in one_for_unlike(values):
        if one.node in reported or one.parameter in named:
            continue
        where = layout.describe_all(one.ranks)
        shared = SharesUpdatedAsOne(one.axis, one.parameter)
        yield CheckFinding("update", step, one.node, one.axis, one.ranks, where, (shared,))
