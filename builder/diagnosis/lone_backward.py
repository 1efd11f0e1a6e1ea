"""Calls that both runs go forward through, and one alone goes back through."""

from __future__ import annotations

from collections import Counter

from builder.match.nodes import Matching
from builder.match.tree import Tree, TreeNode
from builder.operators.table import has


class LoneBackward:
    """The backward calls of one run alone, the problem's first.

    None where both go back equally often through calls of that name: what activation checkpointing
    computes anew has another number. No conversions: one to the format that a value has already
    makes no node to go back through.
    """

    def __init__(self, matching: Matching) -> None:
        went = [_backward_calls(tree) for tree in (matching.problem, matching.benchmark)]
        counts = [Counter(map(_owner, nodes)) for nodes in went]
        self.calls = [
            node
            for node in (*went[0], *went[1])
            if node not in matching.partner and node.forward in matching.partner
            if counts[0][_owner(node)] != counts[1][_owner(node)]
            if not has(node.call, "converts")
        ]
        self._owners = {_owner(call) for call in self.calls}

    def adds_to(self, node: TreeNode) -> bool:
        """Whether a node holds gradients of parameters, a part of which comes of these calls."""
        return node.holds_gradients and _owner(node) in self._owners


def _backward_calls(tree: Tree) -> list[TreeNode]:
    return [n for n in tree.in_order if n.direction == "backward" and not n.holds_gradients]


def _owner(node: TreeNode) -> str:
    """What all entries of a module, or of calls of one name, have in common."""
    return node.entry.owner if node.entry is not None else node.name
