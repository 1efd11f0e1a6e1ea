"""Finds who put out a value that was moved by calls which nobody recorded.

Moving elements, turning their signs and padding with zeros leave the norm and the largest
magnitude alone, where the four statistics that tell of a value's maker may all change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import isfinite, sqrt

import numpy as np

from builder.compare.columns import Columns
from builder.compare.statistics import Floats, Statistics
from builder.diagnosis.changes import is_in
from builder.diagnosis.excess import FORMS, Excess, excess_over
from builder.evidence.distances import ESTIMATED, Evidence
from builder.match.tree import Tree, TreeNode

# Norms are sums of squares in float32, taken in whatever order the elements lie.
NEAR = 2.0**-18
# Sums of elements of random signs are a norm apart: by chance, one in thousands is as near as this.
_SAME_SUM = 2.0**-12


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
            if node.phase == reader.phase
            if abs(self._norm[index] - self._norm[value]) <= NEAR * self._norm[value]
        )
        return next(near, None)

    def _is_known(self, index: int) -> bool:
        """Whether a norm is recorded that many values together made, and no constant."""
        norm, peak = self._norm[index], self._peak[index]
        return bool(np.isfinite(norm) and np.isfinite(peak) and 0 < peak < norm)


def stand_beside(known: Evidence, row: int, parts: Sequence[int]) -> Excess | None:
    """The excess of a value whose elements are those of its parts; None where they are not.

    That is told by the benchmark: its parts have together the norm of the value, and one of them
    its peak. Where no sign was turned either, which the sum of all elements tells from a rotation,
    the problem's norms have to add up as well, however far apart they are: moving rounds nothing.
    Parts with more elements than the value are added up in it; rotations keep norms all the same.
    A single part with more may have left out zeros of the benchmark's, and no zeros of the
    problem's, as where both cut off a pad that one run put elsewhere.
    """
    is_cut = sum(known.size[part] for part in parts) > known.size[row]
    if is_cut and len(parts) > 1:
        return None
    _, theirs = known.paired.comparison.statistics
    norm, together = _norms(theirs, row, parts)
    peak, *others = peaks(theirs)[[row, *parts]]
    if not norm > 0 or not abs(together - norm) <= NEAR * norm or peak != max(others):
        return None
    came = sqrt(sum(known.reach(part) ** 2 for part in parts))
    expected = came + known.noise[row]
    moved = excess_over(known.distance[row], expected, row, came=came, told=True)
    total = theirs.table[2] * theirs.size
    if is_cut or not abs(total[row] - total[list(parts)].sum()) <= _SAME_SUM * norm:
        return moved
    norm, together = _norms(known.paired.comparison.statistics[0], row, parts)
    lost = abs(together - norm)
    # What agrees to a few roundings, or is nearer to the benchmark's than to its parts, was not
    # made of these: a value that loses elements is further apart by them than its norm is.
    agrees = known.distance[row] <= max(FORMS * known.noise[row], lost / ESTIMATED)
    if agrees or not isfinite(lost) or lost <= moved.times * NEAR * norm:
        return moved
    return excess_over(lost, NEAR * norm, row, came=came, told=True)


def _norms(side: Statistics, row: int, parts: Sequence[int]) -> tuple[float, float]:
    """The norm of a value, and that of its parts together."""
    norms = side.table[3]
    return float(norms[row]), float(np.sqrt((norms[list(parts)] ** 2).sum()))


def peaks(statistics: Statistics) -> Floats:
    """The largest magnitude of each value."""
    return np.asarray(np.abs(statistics.table[:2]).max(axis=0))
