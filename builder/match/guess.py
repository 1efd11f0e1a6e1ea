"""Guesses which differently named modules are the same, for `--fuzzy_match`.

A guess weighs class, attribute name, place among the siblings and shapes of the parameters.
"""

from __future__ import annotations

from builder.match.tree import Tree, TreeNode

ACCEPTED = 0.6
_CLASS, _NAME, _PLACE, _SHAPES = 0.3, 0.2, 0.2, 0.3


def guess_modules(
    left: list[TreeNode], right: list[TreeNode], trees: tuple[Tree, Tree]
) -> list[tuple[TreeNode, TreeNode, float]]:
    """Pairs with their score in 0 … 1, best first, each node at most once and none below 0.6."""
    scored = [
        (_score(ours, theirs, (i / len(left), j / len(right)), trees), -i, -j)
        for i, ours in enumerate(left)
        for j, theirs in enumerate(right)
        if ours.direction == theirs.direction
    ]
    taken_left: set[int] = set()
    taken_right: set[int] = set()
    guesses = []
    for score, i, j in sorted(scored, reverse=True):
        if score < ACCEPTED or i in taken_left or j in taken_right:
            continue
        taken_left.add(i)
        taken_right.add(j)
        guesses.append((left[-i], right[-j], score))
    return guesses


def _score(
    ours: TreeNode, theirs: TreeNode, places: tuple[float, float], trees: tuple[Tree, Tree]
) -> float:
    if ours.entry is None or theirs.entry is None:
        return 0.0
    score = _PLACE * (1.0 - abs(places[0] - places[1]))
    score += _CLASS * (ours.entry.type_name == theirs.entry.type_name)
    score += _NAME * (ours.label == theirs.label)
    score += _SHAPES * (_shapes(ours, trees[0]) == _shapes(theirs, trees[1]))
    return score


def _shapes(node: TreeNode, tree: Tree) -> list[tuple[int, ...] | None]:
    """Shapes of all parameters of a module and of the modules in it, in order of size."""
    shapes = []
    pending = [node]
    while pending:
        current = pending.pop()
        shapes += [
            tree.dump.values.records[index].shape
            for index in range(*current.values)
            if tree.dump.values.keys[index].startswith("parameters.")
        ]
        pending.extend(current.children)
    return sorted(shapes, key=lambda shape: shape or ())
