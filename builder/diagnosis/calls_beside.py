"""Calls that one run alone makes beside a cause, at its line: a part of the same change.

Where an expression was changed, calls of both runs are paired that compute other parts of it; one
of them is named, and what is left over would look like a fault of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from builder.diagnosis.causes import calling_lines
from builder.diagnosis.changes import BESIDE
from builder.diagnosis.finding import Finding
from builder.match.nodes import Matching
from builder.match.tree import Tree, TreeNode
from builder.reasons import CallsBeside, Rewired


def say_calls_beside(matching: Matching, findings: Sequence[Finding]) -> None:
    """Tell each finding of a call that reads what another call made which calls stand beside it."""
    for finding in findings:
        partner = matching.partner.get(finding.node)
        if not isinstance(finding.reasons[0], Rewired) or partner is None:
            continue
        names = [
            *_alone(matching, matching.problem, finding.node),
            *_alone(matching, matching.benchmark, partner),
        ]
        if names:
            finding.reasons.append(CallsBeside(", ".join(names)))


def _alone(matching: Matching, tree: Tree, node: TreeNode) -> Iterator[str]:
    """The calls near a node, at its line and in its module, that its own run alone makes."""
    lines, siblings = calling_lines(tree, node), node.parent.children if node.parent else []
    if lines is None:
        return
    at = siblings.index(node)
    for other in siblings[max(0, at - BESIDE) : at + BESIDE + 1]:
        is_alone = other.kind == "api" and other not in matching.partner
        if is_alone and calling_lines(tree, other) == lines:
            yield other.name
