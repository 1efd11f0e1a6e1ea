"""Says of nodes without a partner why they have none."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

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
        node: _why(node, partner, free)
        for tree in (problem, benchmark)
        for node in tree.in_order
        if node not in partner and node not in known
    }


def _why(node: TreeNode, partner: _Partners, free: _FreeModules) -> str:
    if node.recomputed:
        return "recomputed"
    if node.parent is None or node.parent not in partner:
        return "parent_unmatched"
    other = free.like(node, partner[node.parent]) if node.kind == "module" else None
    return "absent" if other is None else f"renamed:{other.name}"


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
