"""Finds who put out a value that was moved by calls which nobody recorded.

Moving elements, turning their signs and padding with zeros leave the norm and the largest
magnitude alone, where the four statistics that tell of a value's maker may all change.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from builder.compare.columns import Columns
from builder.compare.statistics import Floats, Statistics
from builder.diagnosis.structure import is_in
from builder.match.step_phases import phase_of
from builder.match.tree import Tree, TreeNode

# Norms are sums of squares in float32, taken in whatever order the elements lie.
NEAR = 2.0**-18


class MovedValues:
    """The values that the calls of one side put out, by their largest magnitude."""

    def __init__(self, tree: Tree, columns: Columns) -> None:
        self._peak, self._norm = peaks(columns.statistics), columns.statistics.table[3]
        self._made: dict[float, list[tuple[int, TreeNode]]] = defaultdict(list)
        keys = tree.dump.values.keys
        for node in tree.in_order:
            for index in range(*node.values):
                if keys[index].startswith("output") and self._is_known(index):
                    self._made[float(self._peak[index])].append((index, node))

    def maker(self, value: int, reader: TreeNode) -> int | None:
        """The latest value put out before a reader in its pass that a value may be, moved."""
        if value < 0 or not self._is_known(value):
            return None
        near = (
            index
            for index, node in reversed(self._made.get(float(self._peak[value]), ()))
            if node.exec_order < reader.exec_order and not is_in(node, reader)
            if phase_of(node) == phase_of(reader)
            if abs(self._norm[index] - self._norm[value]) <= NEAR * self._norm[value]
        )
        return next(near, None)

    def _is_known(self, index: int) -> bool:
        """Whether a norm is recorded that many values together made, and no constant."""
        norm, peak = self._norm[index], self._peak[index]
        return bool(np.isfinite(norm) and np.isfinite(peak) and 0 < peak < norm)


def peaks(statistics: Statistics) -> Floats:
    """The largest magnitude of each value."""
    return np.asarray(np.abs(statistics.table[:2]).max(axis=0))
