"""Guesses which differently named modules are the same, for `--fuzzy_match`.

A guess weighs class, attribute name, place among the siblings and shapes of the parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise

from builder.match.tree import Tree, TreeNode

ACCEPTED = 0.6
_CLASS, _NAME, _PLACE, _SHAPES = 0.3, 0.2, 0.2, 0.3
# What two modules have in common to be accepted: with one of these alone, or none, they cannot be,
# however near they stand.
_IN_COMMON = ((True, True, True), (True, True, False), (True, False, True), (False, True, True))
assert _PLACE + _CLASS < ACCEPTED and _PLACE + _SHAPES < ACCEPTED


def guess_modules(
    left: list[TreeNode], right: list[TreeNode], trees: tuple[Tree, Tree]
) -> list[tuple[TreeNode, TreeNode, float]]:
    """Pairs with their score in 0 … 1, best first, each node at most once and none below 0.6."""
    ours = list(_modules(left, trees[0], 0))
    theirs = list(_modules(right, trees[1], 1))
    return [
        (left[one.index], right[other.index], score) for score, one, other in _best(ours, theirs)
    ]


@dataclass(slots=True, eq=False)
class _Module:
    """What tells a module: class, attribute name and shapes; `place` in 0 … 1 among its siblings.

    `side` is 0 or 1, as all pairs have it here.
    """

    side: int
    index: int
    place: float
    direction: str | None
    told: tuple[Hashable, Hashable, Hashable]
    taken: bool = False
    rows: list[_Row] = field(default_factory=list)


def _modules(nodes: list[TreeNode], tree: Tree, side: int) -> Iterator[_Module]:
    for index, node in enumerate(nodes):
        if node.entry is not None:
            told = node.entry.type_name, node.label, _shapes(node, tree)
            yield _Module(side, index, index / len(nodes), node.direction, told)


def _shapes(node: TreeNode, tree: Tree) -> tuple[tuple[int, ...] | None, ...]:
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
    return tuple(sorted(shapes, key=lambda shape: shape or ()))


class _Row:
    """Modules of both sides with the same in common, in the order of their places.

    Of those that are free the two that stand nearest are neighbours: what stands between them would
    be nearer to one of the two. So neighbours alone are looked at, not all pairs.
    """

    def __init__(self, modules: list[_Module]) -> None:
        self._before: dict[_Module, _Module] = {}
        self._behind: dict[_Module, _Module] = {}
        modules.sort(key=lambda module: (module.place, module.side))
        for one, other in pairwise(modules):
            self._behind[one], self._before[other] = other, one
        for module in modules:
            module.rows.append(self)

    def neighbours(self) -> Iterator[tuple[_Module, _Module]]:
        """Pairs of modules that stand beside each other."""
        return iter(self._behind.items())

    def take(self, module: _Module) -> tuple[_Module, _Module] | None:
        """Take a module out; those that stand beside each other for that, if any."""
        before, behind = self._before.pop(module, None), self._behind.pop(module, None)
        if before is not None:
            del self._behind[before]
        if behind is not None:
            del self._before[behind]
        if before is None or behind is None:
            return None
        self._behind[before], self._before[behind] = behind, before
        return before, behind


def _best(ours: list[_Module], theirs: list[_Module]) -> Iterator[tuple[float, _Module, _Module]]:
    """The best pair of all that are free, again and again; of equal ones the first."""
    rows = _rows([*ours, *theirs])
    waiting = [
        each for row in rows for pair in row.neighbours() if (each := _scored(*pair)) is not None
    ]
    heapify(waiting)
    while waiting:
        rank, one, other = heappop(waiting)
        if one.taken or other.taken:
            continue
        one.taken = other.taken = True
        yield -rank[0], one, other
        for module in (one, other):
            for row in module.rows:
                pair = row.take(module)
                scored = _scored(*pair) if pair is not None else None
                if scored is not None:
                    heappush(waiting, scored)


def _rows(modules: list[_Module]) -> list[_Row]:
    alike: defaultdict[Hashable, list[_Module]] = defaultdict(list)
    for module in modules:
        for common in _IN_COMMON:
            told = tuple(t for t, counts in zip(module.told, common, strict=True) if counts)
            alike[module.direction, common, told].append(module)
    return [_Row(listed) for listed in alike.values()]


_Scored = tuple[tuple[float, int, int], _Module, _Module]


def _scored(one: _Module, other: _Module) -> _Scored | None:
    """A pair as it is ranked: the best first, then by place; None where it is no pair at all."""
    if one.side == other.side:
        return None
    ours, theirs = (one, other) if one.side == 0 else (other, one)
    score = _PLACE * (1.0 - abs(ours.place - theirs.place))
    for weight, mine, yours in zip((_CLASS, _NAME, _SHAPES), ours.told, theirs.told, strict=True):
        score += weight * (mine == yours)
    rank = (-score, ours.index, theirs.index)
    return (rank, ours, theirs) if score >= ACCEPTED else None
