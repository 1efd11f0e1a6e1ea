"""Single numbers that are computed otherwise and come to the same loss.

Means that are negated behind their sum instead of before it, or a sum that is divided later: all
that is handed on is one number, so where the last of them is the same nothing of it was lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from math import isfinite, prod

from builder.diagnosis.end_results import EndResults
from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from builder.flow.feeding import NOWHERE, Flow
from builder.flow.recorded_passages import HandedOn
from builder.match.tree import Tree, TreeNode, recorded_outputs
from msprobe_core.format import is_integer_dtype


class SingleNumbers:
    """The single numbers of a run's forward pass, and those that the other run comes to."""

    def __init__(self, problem: Tree, edges: Callable[[], HandedOn], benchmark: Flow) -> None:
        self._tree, self._edges, self._theirs = problem, edges, EndResults(benchmark)

    def come_to_the_same(self, node: TreeNode, near: float) -> bool:
        """Whether all that is made of what a node puts out are single numbers, and the last agree.

        `near` is how far apart rounding takes them, relative. A number that nothing recorded reads
        is a last one; where it is the node's own, it was compared, and nothing makes up for it.
        """
        own = recorded_outputs(node, self._tree)
        # Few nodes put out single numbers: the edges are made for those alone.
        if any(self._single(value) is None for value in own) or not self._readers[node.exec_order]:
            return False
        waiting, seen, last = [node], {node}, list[float]()
        while waiting:
            maker = waiting.pop()
            readers = self._readers[maker.exec_order]
            # A call without values is told of by its readers.
            made = recorded_outputs(maker, self._tree) or [value for _, value in readers]
            numbers = [number for number in map(self._single, made) if number is not None]
            if not made or len(numbers) < len(made):
                return False
            last += [] if readers else numbers
            waiting += [reader for reader, _ in readers if reader not in seen]
            seen.update(reader for reader, _ in readers)
        return all(self._is_one_of_theirs(number, near) for number in last)

    def _single(self, value: int) -> float | None:
        return None if value == NOWHERE else _single_number(self._tree.dump.values.records[value])

    @cached_property
    def _readers(self) -> dict[int, list[tuple[TreeNode, int]]]:
        """The forward calls and modules that read what a node puts out, and as which value."""
        nodes = self._tree.in_order
        found = defaultdict[int, list[tuple[TreeNode, int]]](list)
        for (maker, reader), value in self._edges().items():
            if nodes[reader].direction == "forward" and reader > maker:
                found[maker].append((nodes[reader], value))
        return found

    def _is_one_of_theirs(self, number: float, near: float) -> bool:
        return any(abs(number - other) <= near * abs(other) for other in self._came_to)

    @cached_property
    def _came_to(self) -> frozenset[float]:
        """The single numbers of the benchmark's forward pass that nothing reads, but zero."""
        tree = self._theirs.tree
        unread = self._theirs.unread(n for n in tree.in_order if n.direction == "forward")
        records = tree.dump.values.records
        return frozenset(number for i in unread if (number := _single_number(records[i])))


def _single_number(record: Record) -> float | None:
    """The number that a value is, if it is a finite one with a point."""
    if record.dtype is None or is_integer_dtype(record.dtype) or prod(record.shape or ()) != 1:
        return None
    number = number_of(record.Max)
    return number if isfinite(number) else None
