"""One finding for what one cause does to many parameters: a lost reduction, a stale stage, a clip.

Parameters differ together where one step of the training made them differ: findings about them that
say the same of the same ranks are one. What differs at the optimizer because the gradient that came
out of the backward pass did is no cause of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.score import THRESHOLD
from builder.diagnosis.finding import Finding
from builder.ranks.joining.told import names_of
from builder.reasons import AxisFact, RankedFact, same_of, value_of
from builder.work.merged import MergedMatch

_GRADIENT = "input.gradient"


def one_finding_a_cause(
    findings: Sequence[Finding], comparison: Comparison, merged: MergedMatch
) -> list[Finding]:
    """The findings, in order, without those that others explain; the rest count as propagated."""
    return _grouped(_without_read_gradients(findings, comparison), merged)


def _without_read_gradients(findings: Sequence[Finding], comparison: Comparison) -> list[Finding]:
    """Leave out gradients that an optimizer reads as a finding of the passes has made them."""
    behind = [f for f in findings if not f.node.is_update and f.node.phase != "after"]
    if not behind:
        return list(findings)
    agreeing = _agreeing_gradients(comparison)
    kept = []
    for finding in findings:
        is_read = finding.node.is_update and _value_of(finding) == _GRADIENT
        if is_read and not _names_of(finding) <= agreeing:
            behind[0].propagated_to += 1
        else:
            kept.append(finding)
    return kept


def _agreeing_gradients(comparison: Comparison) -> set[str]:
    """The parameters whose gradients agree as the backward pass leaves them, before a reduction."""
    order = comparison.matching.problem.in_order
    agreeing: set[str] = set()
    apart: set[str] = set()
    for row in np.flatnonzero(~np.isnan(comparison.scores.score)).tolist():
        key = comparison.keys[row]
        if key.startswith("parameters_grad."):
            names = names_of(order[comparison.pairs.node[row]].name, key)
            (agreeing if comparison.scores.score[row] <= THRESHOLD else apart).update(names)
    return agreeing - apart


def _grouped(findings: Sequence[Finding], merged: MergedMatch) -> list[Finding]:
    groups: dict[Hashable, list[Finding]] = {}
    for number, finding in enumerate(findings):
        groups.setdefault(_cause_of(finding, merged) or number, []).append(finding)
    return [_one_of(group) for group in groups.values()]


def _cause_of(finding: Finding, merged: MergedMatch) -> Hashable:
    """What findings about parameters share that have one cause; None for all others."""
    value = _value_of(finding)
    about_parameters = finding.node.is_update or finding.kind == "parameter_differs"
    if value is None or finding.side != "problem" or not about_parameters:
        return None
    # A module reads a parameter as its optimizer does.
    value = "parameters" if value.startswith("parameters.") else value
    axis = next((r.axis for r in finding.reasons if isinstance(r, AxisFact)), None)
    ranks = next((r.ranks for r in finding.reasons if isinstance(r, RankedFact)), None)
    stage = tuple(sorted(merged.problem.origin.get(finding.node.name, ())))
    # Of replicas of a gradient nobody knows for sure which are off.
    return value, axis, ranks if axis is not None and value == "parameters" else stage


def _one_of(group: Sequence[Finding]) -> Finding:
    first, *others = group
    if others:
        names = [name for finding in others for name in sorted(_names_of(finding))]
        first.propagated_to += len(others)
        first.reasons += same_of(sorted(set(names) - _names_of(first)))
    return first


def _names_of(finding: Finding) -> set[str]:
    """The parameter that a finding is about."""
    return set(names_of(finding.node.name, _value_of(finding) or ""))


def _value_of(finding: Finding) -> str | None:
    """The key of the value that a finding is about: what its first reason names."""
    return next((v for reason in finding.reasons if (v := value_of(reason)) is not None), None)
