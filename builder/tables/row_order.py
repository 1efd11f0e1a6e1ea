"""Which rows a table has: every value of either side, in the order of the problem's dump.

Calls of the benchmark alone stand behind the partner of the call that they follow there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from builder.compare.comparison import Comparison
from builder.dump.reader import Dump
from builder.match.tree import TreeNode
from builder.match.value_pairing import SURPLUS

NULL = -2  # in place of a value's index: the entry holds null there


@dataclass(frozen=True, slots=True)
class Place:
    """One row: indices of its values (or SURPLUS, or NULL), and its row of the comparison.

    `row` is None where nothing was compared.
    """

    key: str
    problem: int
    benchmark: int
    row: int | None


@dataclass(frozen=True, slots=True)
class Call:
    """The rows of one call; a side is None where it does not make the call."""

    problem: TreeNode | None
    benchmark: TreeNode | None
    places: list[Place]


def calls_in_order(comparison: Comparison) -> Iterator[Call]:
    """All calls that have values on a side."""
    return _Order(comparison).calls()


class _Order:
    def __init__(self, comparison: Comparison) -> None:
        matching, pairs = comparison.matching, comparison.pairs
        self.partner = matching.partner
        self.problem, self.benchmark = matching.problem, matching.benchmark
        count = len(matching.problem.in_order)
        self._bounds: list[int] = np.searchsorted(pairs.node, np.arange(count + 1)).tolist()
        self._ours: list[int] = pairs.problem.tolist()
        self._theirs: list[int] = pairs.benchmark.tolist()
        # A data mapping pairs values of calls that are no partners.
        self._taken = set(self._theirs) if matching.values else set()

    def calls(self) -> Iterator[Call]:
        ours, theirs = self.problem, self.benchmark
        alone = self._benchmark_alone()
        yield from alone.get(None, ())
        for name in ours.dump.ranges:
            node = ours.by_name[name]
            partner = self.partner.get(node)
            places = self._places(node, partner)
            if places:
                yield Call(node, partner, places)
            if partner is not None and partner.name in theirs.dump.ranges:
                yield from alone.get(partner, ())

    def _benchmark_alone(self) -> dict[TreeNode | None, list[Call]]:
        calls_after: dict[TreeNode | None, list[Call]] = defaultdict(list)
        before: TreeNode | None = None
        recorded = self.problem.dump.ranges
        for name in self.benchmark.dump.ranges:
            node = self.benchmark.by_name[name]
            partner = self.partner.get(node)
            if partner is not None and partner.name in recorded:
                before = node
                continue
            values = _indexed(self.benchmark.dump, node)
            places = [Place(k, SURPLUS, i, None) for i, k in values if i not in self._taken]
            if places:
                calls_after[before].append(Call(None, node, places))
        return calls_after

    def _places(self, node: TreeNode, partner: TreeNode | None) -> list[Place]:
        return self._problem_alone(node) if partner is None else self._matched(node, partner)

    def _problem_alone(self, node: TreeNode) -> list[Place]:
        rows = range(self._bounds[node.exec_order], self._bounds[node.exec_order + 1])
        mapped = {self._ours[row]: row for row in rows}
        places = []
        for index, key in _indexed(self.problem.dump, node):
            row = mapped.get(index)
            places.append(Place(key, index, SURPLUS if row is None else self._theirs[row], row))
        return places

    def _matched(self, node: TreeNode, partner: TreeNode) -> list[Place]:
        ours, theirs = self.problem.dump, self.benchmark.dump
        start, stop = self._bounds[node.exec_order], self._bounds[node.exec_order + 1]
        absent = node.name in ours.values.absent or partner.name in theirs.values.absent
        if start == stop or absent:
            return self._by_key(node, partner, range(start, stop))
        keys = ours.values.keys
        return [
            Place(keys[p] if p != SURPLUS else theirs.values.keys[b], p, b, row)
            for row, p, b in zip(
                range(start, stop), self._ours[start:stop], self._theirs[start:stop]
            )
        ]

    def _by_key(self, node: TreeNode, partner: TreeNode, rows: range) -> list[Place]:
        # Where an entry holds null, or one side recorded no values: not all of it was compared.
        row_of = {self._ours[row]: row for row in rows}
        row_of_theirs = {self._theirs[row]: row for row in rows}
        waiting: dict[str, list[int]] = defaultdict(list)
        for index, key in _indexed(self.benchmark.dump, partner):
            if index == NULL or index not in self._taken or index in row_of_theirs:
                waiting[key].append(index)
        places = []
        for index, key in _indexed(self.problem.dump, node):
            row = row_of.get(index) if index != NULL else None
            other = self._theirs[row] if row is not None else SURPLUS
            if other != SURPLUS and other in waiting[key]:
                waiting[key].remove(other)
            elif other == SURPLUS and waiting[key]:
                other = waiting[key].pop(0)
                row = row_of_theirs.get(other) if index == NULL else row
            places.append(Place(key, index, other, row))
        rest = sorted((i, key) for key, indices in waiting.items() for i in indices)
        return places + [Place(key, SURPLUS, i, row_of_theirs.get(i)) for i, key in rest]


def _indexed(dump: Dump, node: TreeNode) -> list[tuple[int, str]]:
    """The values of an entry with their indices, NULL for one that is null."""
    start, stop = dump.ranges.get(node.name, (0, 0))
    values = list(zip(range(start, stop), dump.values.keys[start:stop]))
    absent = dump.values.absent.get(node.name, ())
    for place, (before, key) in enumerate(absent):
        values.insert(before - start + place, (NULL, key))
    return values
