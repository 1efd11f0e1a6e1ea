"""What modules of two programs read and put out: which values are one tensor, and how near."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from math import inf, nan, prod
from typing import Literal

from builder.dump.values import Record
from builder.match.implementations.parameters import Numbers, numbers_of
from builder.match.tree import Tree, TreeNode
from builder.match.value_pairing import SURPLUS
from msprobe_core.format import is_integer_dtype

Calls = dict[str, list[TreeNode]]  # of each module by its path
_ROLES = ("input", "output")
_First = dict[str, int]  # by role, the index of a value


class FirstTensors:
    """The first tensor that each module reads, and the first that it puts out."""

    def __init__(self, trees: tuple[Tree, Tree], calls: tuple[Calls, Calls]) -> None:
        self._trees, self._calls = trees, calls
        self._known: tuple[dict[str, _First], dict[str, _First]] = ({}, {})

    def alike(self, path: str, other: str) -> int:
        """How many of the two are alike of a module of the problem and one of the benchmark."""
        return sum(_are_alike(*pair, self._trees) for pair in self._pairs(path, other))

    def apart(self, path: str, other: str) -> float:
        """How far apart both are together, in units of their norm; at worst infinity."""
        known = [
            one.apart(two)
            for pair in self._pairs(path, other)
            if (one := self._numbers(0, pair[0])) is not None
            if (two := self._numbers(1, pair[1])) is not None and one.size == two.size
        ]
        return sum(known) if len(known) == len(_ROLES) else inf

    def norm(self, side: Literal[0, 1], path: str) -> float:
        """The norm of what a module puts out first, of the problem (0) or the benchmark; or NaN."""
        first = self._first(side, path).get("output")
        numbers = None if first is None else self._numbers(side, first)
        return nan if numbers is None else numbers.norm

    def _pairs(self, path: str, other: str) -> Iterator[tuple[int, int]]:
        ours, theirs = self._first(0, path), self._first(1, other)
        for role in _ROLES:
            if role in ours and role in theirs:
                yield ours[role], theirs[role]

    def _first(self, side: int, path: str) -> _First:
        known = self._known[side]
        if path not in known:
            tensors = tensors_of(self._calls[side][path][0], self._trees[side])
            known[path] = {role: tensors[role][0] for role in _ROLES if tensors.get(role)}
        return known[path]

    def _numbers(self, side: int, index: int) -> Numbers | None:
        return numbers_of(self._trees[side].dump.values.records[index])


def edge_values(
    ours: TreeNode, theirs: TreeNode, trees: tuple[Tree, Tree], weights: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """The values of two nodes that are one tensor; tensors that one of them has alone are single.

    What else a module is given is another signature, and no difference.
    """
    left, right = tensors_of(ours, trees[0]), tensors_of(theirs, trees[1])
    own = set(right.pop("parameters", ()))
    for index in left.pop("parameters", ()):
        other = weights.get(index, SURPLUS)
        yield index, other if other in own else SURPLUS
    for role in sorted(left.keys() | right.keys()):
        waiting: dict[tuple[int, bool], deque[int]] = defaultdict(deque)
        for index in right.get(role, ()):
            waiting[_form(index, trees[1])].append(index)
        for place, index in enumerate(left.get(role, ())):
            fitting = waiting[_form(index, trees[0])]
            if fitting and (role != "input" or not place or _are_alike(index, fitting[0], trees)):
                yield index, fitting.popleft()
            else:
                yield index, SURPLUS
        yield from ((SURPLUS, index) for rest in waiting.values() for index in rest)


def _are_alike(ours: int, theirs: int, trees: tuple[Tree, Tree]) -> bool:
    """Whether what a module is given besides its first tensor is the same thing.

    A mask, angles or places that either program makes for itself are another signature. What has
    no end, as the numbers of a mask, is the same where all that is known of it is.
    """
    records = [tree.dump.values.records[index] for index, tree in zip((ours, theirs), trees)]
    one, other = map(numbers_of, records)
    if one is not None and other is not None:
        return one.are_like(other)
    if all(is_integer_dtype(record.dtype or "") for record in records):
        return True
    left, right = ([r.Max, r.Min, r.Mean, r.Norm] for r in records)
    return left == right


def tensors_of(node: TreeNode, tree: Tree) -> dict[str, list[int]]:
    """The values of a node that are tensors, by their role, in their order."""
    found: dict[str, list[int]] = defaultdict(list)
    values = tree.dump.values
    for index in range(*node.values):
        if values.records[index].dtype is not None:
            found[values.keys[index].partition(".")[0]].append(index)
    return found


def _form(index: int, tree: Tree) -> tuple[int, bool]:
    """What two values that are one tensor have in common: its size, and the kind of numbers."""
    record = tree.dump.values.records[index]
    return size_of(record), is_integer_dtype(record.dtype or "")


def size_of(record: Record) -> int:
    """How many elements a value has."""
    return prod(record.shape or ())
