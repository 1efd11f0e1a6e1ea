"""NaN and infinity: what makes them of finite inputs is named at once, before anything is judged.

Where NaN comes first is said beside what is named, for it is what people see of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.statistics import nonfinite_state
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.diagnosis.verdicts import Named
from builder.dump.forms import OUTPUT_ROLES
from builder.judge.overflow import is_exempt
from builder.match.nodes import Matching
from builder.match.tree import TreeNode
from builder.reasons import NonfiniteFirst, NonfiniteFollows, NonfiniteMade


def unmatched_nonfinite(facts: Facts, node: TreeNode) -> Named | None:
    """How a call without a partner is named that makes NaN or Inf of finite inputs."""
    if is_exempt(node) or node.recomputed:
        return None
    values = facts.paired.values
    read = (i for i in range(*node.values) if not values.keys[i].startswith("output"))
    if any(nonfinite_state(values.records[index]) for index in read):
        return None
    return nonfinite_at(facts, node)


def nonfinite_at(facts: Facts, node: TreeNode) -> Named | None:
    """How the call is named that makes NaN or Inf, where its outputs hold any."""
    values = facts.paired.values
    for index in range(*node.values):
        key, state = values.keys[index], nonfinite_state(values.records[index])
        if state and key.startswith(OUTPUT_ROLES):
            return Named("non_finite", node, NonfiniteMade(key, state), score=1.0)
    return None


@dataclass(frozen=True, slots=True)
class _FirstNonfinite:
    """The first node of a step that puts out NaN, or infinity, where the benchmark has none."""

    node: TreeNode
    value: str
    state: str


def say_first_nonfinite(comparison: Comparison, findings: Sequence[Finding]) -> None:
    """Tell the findings where the first NaN is, or the first infinity where no NaN is.

    The finding that names its maker says so; the first one says that it ran before, if it did.
    """
    if not findings:
        return
    first = _first_nonfinite(comparison)
    if first is None:
        return
    for finding in findings:
        if finding.node is first.node and finding.kind != "non_finite":
            finding.reasons.append(NonfiniteFirst(first.value, first.state))
    begins = findings[0]
    if begins.node is not first.node and begins.order < first.node.exec_order:
        begins.reasons.append(NonfiniteFollows(first.node.name, first.value, first.state))


def _first_nonfinite(comparison: Comparison) -> _FirstNonfinite | None:
    ours, theirs = (side.table[:2] for side in comparison.statistics)
    for state, holds in (("NaN", np.isnan), ("Inf", np.isinf)):
        recorded = comparison.statistics[0].recorded[:2] & comparison.statistics[1].recorded[:2]
        rows = comparison.is_output & (recorded & holds(ours)).any(axis=0)
        rows &= ~(holds(theirs) if state == "NaN" else ~np.isfinite(theirs)).any(axis=0)
        matched = _of_rows(comparison, np.flatnonzero(rows).tolist(), state)
        found = _of_unmatched(comparison.matching, state, matched) or matched
        if found is not None:
            return found
    return None


def _of_unmatched(
    matching: Matching, state: str, before: _FirstNonfinite | None
) -> _FirstNonfinite | None:
    """The first call that the problem run alone makes and that puts out such a value."""
    values, end = matching.problem.dump.values, len(matching.problem.in_order)
    end = end if before is None else before.node.exec_order
    for node in matching.problem.in_order[:end]:
        if node in matching.partner or is_exempt(node) or node.recomputed:
            continue
        for index in range(*node.values):
            key, record = values.keys[index], values.records[index]
            if key.startswith(OUTPUT_ROLES) and nonfinite_state(record) == state:
                return _FirstNonfinite(node, key, state)
    return None


def _of_rows(comparison: Comparison, rows: Sequence[int], state: str) -> _FirstNonfinite | None:
    in_order = comparison.matching.problem.in_order
    for row in rows:  # in execution order
        node = in_order[int(comparison.pairs.node[row])]
        if not (is_exempt(node) or node.recomputed or row in comparison.blank.unwritten):
            return _FirstNonfinite(node, comparison.keys[row], state)
    return None
