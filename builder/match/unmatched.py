"""Says of nodes without a partner why they have none."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property

from builder.match.tree import Tree, TreeNode

_Partners = Mapping[TreeNode, TreeNode]


def why_unmatched(
    problem: Tree, benchmark: Tree, partner: _Partners, known: Mapping[TreeNode, str]
) -> dict[TreeNode, str]:
    """By node without a partner, in a word, why; a module renamed is said with its new name.

    Those of which a reason is known already are left out.
    """
    free = _FreeModules(partner)
    return {
        node: _why(node, partner, free, again)
        for tree in (problem, benchmark)
        for again in [_RunAgain(tree)]
        for node in tree.in_order
        if node not in partner and node not in known
    }


def _why(node: TreeNode, partner: _Partners, free: _FreeModules, again: _RunAgain) -> str:
    if node.recomputed and again.holds(node):
        return "recomputed"
    if node.parent is None or node.parent not in partner:
        return "parent_unmatched"
    other = free.like(node, partner[node.parent]) if node.kind == "module" else None
    return "absent" if other is None else f"renamed:{other.name}"


class _RunAgain:
    """What a checkpoint runs again in a backward pass of a tree: it ran before, in the forward one.

    What else runs there is called by a backward of the user's own.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._calls: dict[TreeNode, set[str]] = {}

    def holds(self, node: TreeNode) -> bool:
        """Whether a node of a backward pass ran before, or what it is in there."""
        while node.parent is not None and node.parent.recomputed:
            node = node.parent
        if node.kind == "module":
            return node.owner in self._modules
        return node.call in self._called_in(self._around(node))

    def _around(self, node: TreeNode) -> TreeNode:
        """What a call of a backward pass ran in before, if it did: a module, or the script."""
        passed = node.parent.forward if node.parent is not None else None
        if passed is not None and passed.kind == "api":
            passed = passed.parent
        return passed or self._tree.root

    @cached_property
    def _modules(self) -> set[str]:
        forward = (node for node in self._tree.in_order if _runs_forward(node))
        return {node.owner for node in forward if node.kind == "module"}

    def _called_in(self, node: TreeNode) -> set[str]:
        if node not in self._calls:
            called = (one for one in node.children if _runs_forward(one))
            self._calls[node] = {one.call for one in called if one.kind == "api"}
        return self._calls[node]


def _runs_forward(node: TreeNode) -> bool:
    return node.direction == "forward" and not node.recomputed


class _FreeModules:
    """What has no partner below a node, to be asked for by class: thousands of siblings may ask."""

    def __init__(self, partner: _Partners) -> None:
        self._partner = partner
        self._below: dict[TreeNode, dict[Hashable, TreeNode]] = {}

    def like(self, node: TreeNode, parent: TreeNode) -> TreeNode | None:
        """The first below a parent of a node's class and direction; None where there is none."""
        if node.entry is None:
            return None
        if parent not in self._below:
            # Of several of one class the first stays.
            self._below[parent] = dict(reversed(list(self._without_partner(parent))))
        return self._below[parent].get((node.entry.type_name, node.direction))

    def _without_partner(self, parent: TreeNode) -> Iterator[tuple[Hashable, TreeNode]]:
        for other in parent.children:
            if other.entry is not None and other not in self._partner:
                yield (other.entry.type_name, other.direction), other
