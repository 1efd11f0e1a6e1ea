"""What the gradients that optimizers read say of their reduction: over whom, and by what factor."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from builder.ranks.checks.check_finding import CheckFinding, axis_of
from builder.ranks.joining.parts import RunValues
from builder.ranks.placement.gradients import Reduction, unusual_factors
from builder.ranks.placement.mixtures import one_for_unlike, sums_of_unlike
from builder.ranks.placement.origins import origin

_SHOWN = 4


def wrong_reductions(
    step: int, values: RunValues, known: Mapping[str, Reduction], reported: Collection[str]
) -> Iterator[CheckFinding]:
    """Gradients of unlike parameters in one sum, and gradients reduced otherwise than most.

    `reported` are the nodes of parameters of which ranks hold unlike copies: they say nothing.
    """
    yield from _mixtures(step, values, reported)
    layout = values.run.layout
    for each in unusual_factors(known, layout.sizes):
        found = each.found
        if found.node in reported:
            continue
        start, _ = values.run.dump.ranges[found.node]
        ranks = tuple(sorted(part.rank for part in values.run.parts[start]))
        text = (
            f"input.gradient is {found.factor:.4g} times what the backward pass gave"
            f"{_added(found.axes)}, and that of {each.peers} other parameters {each.usual:.4g} "
            f"times: {_times(each.times)}"
        )
        axis = found.axes[0] if found.axes else "?"
        where = layout.describe_all(ranks)
        yield CheckFinding("update", step, found.node, axis, ranks, where, text)


def explained(
    findings: Sequence[CheckFinding], known: Mapping[str, Reduction]
) -> Iterator[CheckFinding]:
    """The findings, with what unlike copies of a gradient are where its reduction tells it."""
    by_node = {reduction.node: reduction for reduction in known.values()}
    for finding in findings:
        found = by_node.get(finding.node)
        is_gradient = finding.check == "replica" and finding.text.startswith("input.gradient ")
        if found is None or not is_gradient or finding.axis in found.axes:
            yield finding
            continue
        text = f"{finding.text}; each is what its own rank's backward pass gave{_added(found.axes)}"
        if found.axes:
            text += f" and nothing over {finding.axis}"
        yield replace(finding, text=text)


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
        if finding.axis == "tp" and finding.text.startswith("input.gradient ")
    }
    own = {by_node[n].parameter for n in nodes if n in by_node and "tp" not in by_node[n].axes}
    found = origin(values, "tp", own) if own else None
    if found is None:
        return
    start, _ = values.run.dump.ranges[found.whole]
    ranks = tuple(sorted(part.rank for part in values.run.parts[start]))
    if found.of_gradient:
        reader = f"{found.reader} hands on" if found.reader else "its readers hand on"
        text = (
            f"{found.whole} gives the same on all tp ranks, and its gradient is another on each: "
            f"{reader} a rank's part of it, and nothing adds it up over tp"
        )
    else:
        text = (
            f"{found.reader} gives each tp rank something of its own, and {found.whole} adds to it "
            f"what is the same on all: from here on, gradients of {len(own)} parameters that are "
            "the same on all ranks are not"
        )
    where = values.run.layout.describe_all(ranks)
    yield CheckFinding("partial", step, found.module, "tp", ranks, where, text)


def _added(axes: Sequence[str]) -> str:
    return f", added up over {' and '.join(axes)}" if axes else ""


def _times(times: float) -> str:
    if times > 1:
        return f"it was added up once too often, or left undivided, {times:.3g} times as much"
    return f"it was divided once too often, or not added up, {times:.3g} times as much"


def _mixtures(step: int, values: RunValues, reported: Collection[str]) -> Iterator[CheckFinding]:
    layout, named = values.run.layout, set()
    for found in sums_of_unlike(values):
        ranks = tuple(sorted(found.names))
        named |= set(found.names.values())
        listed = ", ".join(f"{found.names[rank]} on rank {rank}" for rank in ranks[:_SHOWN])
        text = f"it adds up the gradients of unlike parameters: {listed}"
        axis, where = axis_of(layout, ranks) or "?", layout.describe_all(ranks)
        yield CheckFinding("collective", step, found.call, axis, ranks, where, text)
    for one in one_for_unlike(values):
        if one.node in reported or one.parameter in named:
            continue
        text = (
            f"{one.axis} ranks hold unlike shares of {one.parameter} and read one gradient for "
            f"all of them: it was reduced over {one.axis}"
        )
        where = layout.describe_all(one.ranks)
        yield CheckFinding("update", step, one.node, one.axis, one.ranks, where, text)
