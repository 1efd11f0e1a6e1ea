"""Adds to the findings of a merged pair what only its ranks tell: which of them, and replicas."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.score import THRESHOLD
from builder.compare.statistics import Floats
from builder.diagnosis.blame import Walked
from builder.diagnosis.finding import Finding, FindingKind
from builder.match.tree import Tree, TreeNode
from builder.ranks.checks.guilt import guilty_ranks, ranks_that_add_nothing
from builder.ranks.checks.self_check import check_groups, check_step, check_sums
from builder.ranks.joining.parts import RunValues
from builder.ranks.joining.resolve import Conflict
from builder.ranks.layout.coordinates import RunLayout
from builder.ranks.layout.names import without_wrappers
from builder.reasons import (
    Conflict as ToldConflict,
)
from builder.reasons import (
    GradientsScaled,
    Misplaced,
    NotReduced,
    OnRanks,
    OtherAxis,
    PartialUsed,
    Reason,
    ReplicaDiffers,
    RowsDiffer,
    ShardDiffers,
    UpdateAlone,
    UpdatesDiffer,
)
from builder.work.merged import MergedMatch
from builder.work.shared_causes import one_finding_a_cause

# What is said of ranks that do not hold the same, and what may be added to that.
_OF_CONFLICTS = (ReplicaDiffers, Misplaced, NotReduced)


def with_layout_findings(walked: Walked, comparison: Comparison, merged: MergedMatch) -> Walked:
    """The walk's findings and those of the checks between ranks, in order."""
    findings = _with_conflicts(list(walked.findings), comparison.matching.problem, merged)
    findings = _with_other_rows(findings, comparison, merged)
    if not findings:
        return replace(walked, findings=findings)
    values = RunValues(merged.problem)
    findings += _of_other_axes(comparison.matching.problem, values)
    findings.sort(key=Finding.sort_key)
    findings = [*_of_parts(findings[0], comparison.matching.problem, merged), *findings]
    findings = _without_followers(findings)
    findings = _with_one_for_all(findings, comparison)
    findings = one_finding_a_cause(findings, comparison, merged)
    _explain_sums(findings, values)
    _explain_updates(findings, comparison)
    for finding in findings:
        finding.reasons += _places_of(finding, comparison, merged)
    return replace(walked, findings=findings)


def _with_conflicts(findings: list[Finding], problem: Tree, merged: MergedMatch) -> list[Finding]:
    by_node = {finding.node: finding for finding in findings}
    by_name = problem.by_name
    of_parameters = {c.entry for c in merged.resolution.conflicts if c.is_parameter}
    for conflict in merged.resolution.conflicts:
        node = by_name.get(conflict.entry)
        if node is None or _reads_conflict(node, of_parameters):
            continue
        reasons = _reasons(conflict, merged.problem.layout)
        known = by_node.get(node)
        if known is None:
            kind: FindingKind = "parameter_differs" if conflict.is_parameter else "introduced"
            known = Finding(kind, node, "problem", node.exec_order, reasons, score=1.0)
            by_node[node] = known
            findings.append(known)
        elif not _is_conflict(known):
            known.reasons[:0] = reasons
    return findings


def _with_other_rows(
    findings: list[Finding], comparison: Comparison, merged: MergedMatch
) -> list[Finding]:
    """The module that was fed other rows, with what follows from that: all but replicas' conflicts.

    Checksums of rows tell other data where cut values have no sketches, in whatever format.
    """
    rows = merged.other_rows
    node = _first_call(rows.path, comparison.matching.problem) if rows is not None else None
    if rows is None or node is None:
        return findings
    layout = merged.problem.layout
    ranks = [r for r, place in layout.places.items() if place.at.get("dp", 0) in rows.replicas]
    reason = RowsDiffer(
        value=f"input.{rows.key}",
        count=rows.count,
        total=rows.total,
        ranks=", ".join(map(str, sorted(ranks))),
        coordinates=layout.describe_all(sorted(ranks)),
    )
    kept = [finding for finding in findings if _is_conflict(finding)]
    behind = [finding for finding in findings if not _is_conflict(finding)]
    fed = Finding("input_differs", node, "problem", node.exec_order, [reason], score=1.0)
    named = [finding.node for finding in behind if finding.side == "problem"]
    fed.carriers = [*named, *chain.from_iterable(finding.carriers for finding in behind)]
    fed.propagated_to = len(fed.carriers)
    return [fed, *kept]


def _first_call(path: str, problem: Tree) -> TreeNode | None:
    """The first forward call of the module at a path."""
    for node in problem.in_order:
        entry = node.entry if node.kind == "module" and node.direction == "forward" else None
        if entry is not None and without_wrappers(entry.path) == path:
            return node
    return None


def _of_other_axes(problem: Tree, values: RunValues) -> list[Finding]:
    """Collectives over another axis than in the other layers."""
    by_name = problem.by_name
    return [
        Finding(
            "communication",
            by_name[finding.node],
            "problem",
            by_name[finding.node].exec_order,
            [OtherAxis(finding.text)],
            score=1.0,
        )
        for finding in check_groups(0, values)
        if finding.node in by_name
    ]


def _of_parts(first: Finding, problem: Tree, merged: MergedMatch) -> list[Finding]:
    """A part of a sum that ranks use as the whole where nothing else differs yet.

    A part of a cut or rounded value may be within what rounding allows of the whole where the
    ranks' own numbers tell it from the call on.
    """
    by_name = problem.by_name
    told = [
        Finding("introduced", node, "problem", node.exec_order, [PartialUsed(each.text)], score=1.0)
        for each in check_step(0, merged.problem).findings
        if each.check == "partial" and (node := by_name.get(each.node)) is not None
    ]
    earliest = min(told, key=Finding.sort_key, default=None)
    is_before = earliest is not None and earliest.sort_key() < first.sort_key()
    return [earliest] if is_before and earliest is not None else []


def _explain_sums(findings: list[Finding], values: RunValues) -> None:
    """Say of a module that its parts are used as the whole, where its peers add them up."""
    by_name = {f.node.name: f for f in findings if f.side == "problem"}
    if not by_name or len(values.run.layout.places) == 1:
        return
    for found in check_sums(0, values):
        if found.node in by_name:
            by_name[found.node].reasons.append(PartialUsed(found.text))


def _explain_updates(findings: list[Finding], comparison: Comparison) -> None:
    """Say of a step that the optimizer did it, where all that it read agrees."""
    for finding in findings:
        if finding.side != "problem" or not finding.node.is_update:
            continue
        rows = range(*np.searchsorted(comparison.pairs.node, _next_to(finding.node)))
        scores = {comparison.keys[row]: float(comparison.scores.score[row]) for row in rows}
        read = [scores.get(key, np.nan) for key in ("input.gradient", "parameters.value")]
        if all(score <= THRESHOLD for score in read) and scores.get("output.value", 0) > THRESHOLD:
            finding.reasons.append(UpdateAlone())


def _next_to(node: TreeNode) -> list[int]:
    return [node.exec_order, node.exec_order + 1]


def _reads_conflict(node: TreeNode, of_parameters: set[str]) -> bool:
    """Whether a call stands in a module whose own parameters differ: the module is named."""
    parent = node.parent
    return node.kind == "api" and parent is not None and parent.name in of_parameters


def _is_conflict(finding: Finding) -> bool:
    return any(isinstance(reason, ToldConflict) for reason in finding.reasons)


def _without_followers(findings: list[Finding]) -> list[Finding]:
    """Replicas that differ behind another finding as its consequence are left out.

    Those of activations behind any; gradients that optimizers read behind activations that differ
    along the same axis, whose ranks went on with unlike numbers.
    """
    kept: list[Finding] = []
    first: dict[object, Finding] = {}
    for finding in findings:
        said = [reason for reason in finding.reasons if isinstance(reason, ToldConflict)]
        is_conflict = bool(said) and all(isinstance(r, _OF_CONFLICTS) for r in finding.reasons)
        axis = said[0].axis if said else None
        is_read = bool(said) and said[0].value == "input.gradient"
        cause = None
        if kept and is_conflict and finding.kind == "introduced":
            cause = kept[0]
        elif is_conflict and is_read:
            cause = first.get(axis)
        if cause is not None:
            cause.propagated_to += 1
            continue
        kept.append(finding)
        if said and finding.kind == "introduced":
            first.setdefault(axis, finding)
    return kept


def _with_one_for_all(findings: list[Finding], comparison: Comparison) -> list[Finding]:
    """One finding where most gradients that the optimizer reads are off by one factor.

    Clipping, loss scaling or the reduction did that, no single parameter.
    """
    nodes = [n for n in comparison.matching.problem.in_order if n.is_update]
    named = [finding for finding in findings if finding.node.is_update]
    if not nodes or 2 * len(named) <= len(nodes):
        return findings
    factors, rounding = _gradient_factors(comparison)
    common = float(np.median(factors)) if factors.size else 1.0
    alike = 2 * (np.abs(factors / common - 1.0) <= rounding).sum() > factors.size
    first = named[0]
    if alike and abs(common - 1.0) > rounding:
        first.reasons.insert(0, GradientsScaled(common))
    else:
        first.reasons.insert(0, UpdatesDiffer(len(named)))
    first.propagated_to += len(named) - 1
    rest = set(map(id, named[1:]))
    return [finding for finding in findings if id(finding) not in rest]


def _gradient_factors(comparison: Comparison) -> tuple[Floats, float]:
    """The ratio of the norms of each gradient that an optimizer reads, and how far rounding moves
    one: by the tolerance of such gradients.
    """
    order = comparison.matching.problem.in_order
    rows = [
        row
        for row, node in enumerate(comparison.pairs.node.tolist())
        if order[node].is_update and comparison.keys[row] == "input.gradient"
    ]
    ours, theirs = (side.table[3][rows] for side in comparison.statistics)
    usable = (theirs > 0) & np.isfinite(ours)
    rounding = float(np.median(comparison.scores.limit[rows])) if rows else 0.0
    return np.asarray(ours[usable] / theirs[usable]), rounding


def _reasons(conflict: Conflict, layout: RunLayout) -> list[Reason]:
    ranks, where = ", ".join(map(str, conflict.ranks)), layout.describe_all(conflict.ranks)
    facts = (conflict.key, conflict.axis, ranks, where, conflict.error)
    order = conflict.order
    said = ReplicaDiffers(*facts) if order is None else Misplaced(*facts, order)
    return [said, NotReduced(conflict.axis)] if conflict.adds_up else [said]


def _places_of(finding: Finding, comparison: Comparison, merged: MergedMatch) -> list[Reason]:
    """The ranks that have a node, those of them that are off, and what it is called there."""
    run = merged.problem if finding.side == "problem" else merged.benchmark
    origin = run.origin.get(finding.node.name, {})
    if not origin or len(run.layout.places) == 1:
        return []
    reasons: list[Reason] = []
    if finding.side == "problem" and not _is_conflict(finding):
        ranks = _guilty(finding.node, comparison, merged)
        if ranks:
            where = run.layout.describe_all(ranks)
            listed = ", ".join(map(str, ranks))
            reasons.append(ShardDiffers(listed, where))
    first = origin[min(origin)]
    there = f"; there: {first}" if first != finding.node.name else ""
    return [
        *reasons,
        OnRanks(
            ranks=", ".join(map(str, sorted(origin))),
            coordinates=run.layout.describe_all(sorted(origin)),
            there=there,
            origin=first,
        ),
    ]


def _guilty(node: TreeNode, comparison: Comparison, merged: MergedMatch) -> tuple[int, ...]:
    start, stop = np.searchsorted(comparison.pairs.node, _next_to(node))
    scores = np.nan_to_num(comparison.scores.score[start:stop], nan=-1.0)
    if not scores.size or scores.max() <= 0:
        return ()
    # What a node reads comes before what it puts out, which is off on all ranks behind a sum.
    for row in (start + np.flatnonzero(scores >= scores.max() / 2)).tolist():
        indices = int(comparison.pairs.problem[row]), int(comparison.pairs.benchmark[row])
        reading = merged.resolution.readings.get(indices[0])
        if min(indices) < 0 or reading is None:
            continue
        axes = reading.problem.axes
        ranks = guilty_ranks(merged.problem, merged.benchmark, indices, axes)
        if ranks:
            return ranks
    calls = [child.name for child in node.children]
    return ranks_that_add_nothing(merged.problem, calls)
