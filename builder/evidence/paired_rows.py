"""The rows of a comparison as lists that a walk over the nodes asks one by one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.statistics import Bools
from builder.dump.forms import Form
from builder.dump.values import Record
from builder.match.tree import TreeNode
from builder.match.value_pairing import SURPLUS


class PairedRows:
    """Which rows belong to a node, which values they pair, and what kind of values these are."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.ours, self.theirs = comparison.records
        self.values = comparison.matching.problem.dump.values
        pairs, order = comparison.pairs, len(comparison.matching.problem.in_order)
        self._problem: list[int] = pairs.problem.tolist()
        self._benchmark: list[int] = pairs.benchmark.tolist()
        self._bounds: list[int] = np.searchsorted(pairs.node, np.arange(order + 1)).tolist()
        self._forms = comparison.forms.listed()
        self.integer = self.whose(lambda form: form.is_integer)
        self._integer: list[bool] = self.integer.tolist()
        self.is_output: list[bool] = comparison.is_output.tolist()

    def rows(self, node: TreeNode) -> range:
        """The rows of a node's values."""
        return range(self._bounds[node.exec_order], self._bounds[node.exec_order + 1])

    def read(self, node: TreeNode) -> list[int]:
        """The rows of all that a node read, arguments among them."""
        return [row for row in self.rows(node) if not self.is_output[row]]

    def problem_values(self, rows: list[int]) -> list[int]:
        """The problem side's value indices of rows."""
        return [self._problem[row] for row in rows]

    def value_pair(self, row: int) -> tuple[int, int]:
        """The value indices of a row, problem first."""
        return self._problem[row], self._benchmark[row]

    def whose(self, holds: Callable[[Form], bool], side: Literal[0, 1] = 0) -> Bools:
        """Of which rows the form on one side is of some kind; not where the value is surplus."""
        kinds = np.array([holds(form) for form in self._forms], dtype=bool)
        pairs = self.comparison.pairs
        # SURPLUS is -1: a stand-in at the end serves the rows without a value.
        of_value = np.append(kinds[self.comparison.columns[side].forms], False)
        return np.asarray(of_value[(pairs.problem, pairs.benchmark)[side]])

    @cached_property
    def tensors(self) -> tuple[Bools, Bools]:
        """Which rows have a tensor on either side."""
        return self.whose(lambda form: form.is_tensor, 0), self.whose(
            lambda form: form.is_tensor, 1
        )

    @cached_property
    def are_tensors(self) -> list[bool]:
        """Of which rows both sides are tensors."""
        ours, theirs = self.tensors
        return list((ours & theirs).tolist())

    @cached_property
    def surplus_arguments(self) -> set[int]:
        """The rows of arguments, no tensors, that one side alone was given."""
        pairs = self.comparison.pairs
        surplus = (pairs.problem == SURPLUS) | (pairs.benchmark == SURPLUS)
        ours, theirs = self.tensors
        return set(np.flatnonzero(surplus & ~ours & ~theirs).tolist())

    def is_integer(self, row: int) -> bool:
        """Whether a row compares integers: token ids, labels, masks."""
        return self._integer[row]

    def is_reshaped(self, row: int) -> bool:
        """Whether the two sides have another shape, as after selecting other elements."""
        return self.ours[row].shape != self.theirs[row].shape

    def is_resized(self, row: int) -> bool:
        """Whether the tensors of a row have other numbers of elements on the two sides."""
        ours, theirs = self.ours[row].shape, self.theirs[row].shape
        return None not in (ours, theirs) and prod(ours or ()) != prod(theirs or ())

    def share_a_value(self, left: list[int], right: list[int]) -> bool:
        """Whether the same tensor of the problem side stands in both lists of rows."""
        prints = {_statistics(self.ours[row]) for row in left}
        return any(_statistics(self.ours[row]) in prints for row in right)

    @cached_property
    def _nonfinite(self) -> list[bool]:
        statistics = self.comparison.columns[0].statistics
        extremes = statistics.recorded[:2] & ~np.isfinite(statistics.table[:2])
        return list(np.asarray(extremes.any(axis=0)).tolist())

    def is_nonfinite(self, index: int) -> bool:
        """Whether an extreme of one of the problem side's values is NaN or Inf."""
        return self._nonfinite[index]


def _statistics(record: Record) -> tuple[object, ...]:
    return (record.shape, record.Max, record.Min, record.Mean, record.Norm, record.md5)
