"""Calls that both runs go forward through, and one alone goes back through."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from builder.match.nodes import Matching
from builder.match.tree import Tree, TreeNode
from builder.operators.table import has
from msprobe_core.format import of_any_pass


class LoneBackward:
    """The backward calls of one run alone, the problem's first.

    A loss that is made of gradients goes back through calls again, each pass with a number of its
    own.

    None where both go back equally often through calls of that name: what activation checkpointing
    computes anew has another number. No conversions: one to the format that a value has already
    makes no node to go back through.
    """

    def __init__(self, matching: Matching) -> None:
        self._problem = matching.problem
        trees = (matching.problem, matching.benchmark)
        went = [_backward_calls(tree) for tree in trees]
        counts = [Counter(map(_owner, nodes)) for nodes in went]
        self.calls = [
            node
            for tree, nodes in zip(trees, went, strict=True)
            for node in nodes
            if node not in matching.partner and node.goes_through in matching.partner
            if counts[0][_owner(node)] != counts[1][_owner(node)]
            if not has(node.call, "converts")
        ]
        self._owners = {_owner(call) for call in self.calls}

    def adds_to(self, node: TreeNode) -> bool:
        """Whether a node holds gradients of parameters, a part of which comes of these calls."""
        return node.holds_gradients and _owner(node) in self._owners

    def lies_before(self, node: TreeNode, order: int) -> bool:
        """Whether a node holds gradients of a module that ran before a place of the problem.

        What one run alone hands back there reaches them by passes that both runs make.
        """
        if not self.calls or not node.holds_gradients:
            return False
        first = self._first_orders.get(_owner(node))
        return first is not None and first < order

    @cached_property
    def _first_orders(self) -> dict[str, int]:
        """By owner the order of its first entry in the problem."""
        return {_owner(node): node.exec_order for node in reversed(self._problem.in_order)}


def _backward_calls(tree: Tree) -> list[TreeNode]:
    return [n for n in tree.in_order if n.direction == "backward" and not n.holds_gradients]


def _owner(node: TreeNode) -> str:
    """What all entries of a module, or of calls of one name, have in common."""
    return of_any_pass(node.entry.owner if node.entry is not None else node.name)
