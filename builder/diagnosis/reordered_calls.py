"""Calls that both runs make in one module, on other sides of a call of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from builder.match.nodes import Matching
from builder.match.tree import TreeNode

# What stands further behind is another call of its kind rather than the same one moved.
_NEAR = 12


def twins_behind(
    matching: Matching, run: Sequence[TreeNode], reader: TreeNode, scope: TreeNode | None
) -> list[TreeNode]:
    """The other run's calls behind `reader` that are what one run alone calls before it.

    `run` are calls without a partner, and `scope` the problem's module around them. None unless
    each of them has a twin: what is left would be called by one run alone.
    """
    partner = matching.partner.get(reader)
    if partner is None or not run:
        return []
    at = run[0].exec_order
    ours = any(node is run[0] for node in matching.problem.in_order[at : at + 1])
    tree, start = (matching.benchmark, partner) if ours else (matching.problem, reader)
    ahead = [*_ahead(matching, tree.in_order[start.exec_order + 1 :][:_NEAR], scope)]
    found: list[TreeNode] = []
    for call in run:
        twin = next((n for n in ahead if n not in found and _is_same(call, n)), None)
        if twin is None:
            return []
        found.append(twin)
    return found


def passed_over(
    matching: Matching, ours: Sequence[TreeNode], theirs: Sequence[TreeNode]
) -> tuple[TreeNode, bool] | None:
    """The problem's call of both runs that stands on another side of the same calls in either.

    `ours` and `theirs` have no partners; the flag says that the problem makes them before it. None
    where they are other calls, or stand on one side of all that both make near them.
    """
    if not ours or len(ours) != len(theirs) or not all(map(_is_same, ours, theirs)):
        return None
    first, last = ours[0].exec_order, ours[-1].exec_order
    order, start, end = matching.problem.in_order, theirs[0].exec_order, theirs[-1].exec_order
    for node in order[last + 1 :][:_NEAR]:
        if node in matching.partner and matching.partner[node].exec_order < start:
            return node, True
    for node in reversed(order[max(first - _NEAR, 0) : first]):
        if node in matching.partner and matching.partner[node].exec_order > end:
            return node, False
    return None


def _ahead(
    matching: Matching, nodes: Sequence[TreeNode], scope: TreeNode | None
) -> Iterator[TreeNode]:
    """The calls without a partner in the module or its partner."""
    scopes = (scope, matching.partner.get(scope) if scope is not None else None)
    for node in nodes:
        if node.kind == "api" and node not in matching.partner and _module(node) in scopes:
            yield node


def _module(node: TreeNode) -> TreeNode | None:
    up = node.parent
    while up is not None and up.kind == "collection":
        up = up.parent
    return None if up is None or up.kind == "root" else up


def _is_same(one: TreeNode, other: TreeNode) -> bool:
    if one.entry is None or other.entry is None or one.phase != other.phase:
        return False
    return one.entry.owner == other.entry.owner
