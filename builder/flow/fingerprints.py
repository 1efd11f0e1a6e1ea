"""Which recorded call produced a value, told by the value's fingerprint.

A dump does not say where an input came from, but a tensor keeps its statistics from the call that
made it to the calls that read it; transposes and reshapes in between change neither.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from math import isnan

import numpy as np
from numpy.typing import NDArray

from builder.compare.columns import Columns
from builder.dump.forms import Form
from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from builder.match.tree import Tree, TreeNode
from msprobe_core.format import canonical_dtype

NO_PRINT = -1
_UNRECORDED = np.uint64(0x7FF8_0000_0000_0001)  # a NaN that no computation makes


def fingerprint(record: Record) -> Hashable:
    """A key that a tensor shares with its copies and views; None where it says too little.

    Constants (all zeros, all ones) are shared by unrelated tensors and have no fingerprint. Of
    integers there are extremes alone, which labels share with masks; their dtype tells these apart.
    """
    if record.dtype is None:
        return None
    if record.md5 is not None:
        return record.md5
    highest, lowest, mean, norm = map(_cell, (record.Max, record.Min, record.Mean, record.Norm))
    if highest in (None, "nan") or (highest == lowest and highest in (0.0, 1.0)):
        return None
    if mean is None and norm is None:
        return (highest, lowest, canonical_dtype(record.dtype), None)
    return (highest, lowest, mean, norm)


def _cell(cell: float | bool | str | None) -> float | str | None:
    """A statistic as a number, which text may stand for; NaN, no number's equal, as text."""
    if cell is None:
        return None
    number = number_of(cell)
    return "nan" if isnan(number) else number


class Fingerprints:
    """The fingerprints of one side's values as numbers; equal ones have equal numbers.

    Nothing is looked at until the first question: most runs agree nearly everywhere.
    """

    def __init__(self, tree: Tree, columns: Columns, forms: list[Form]) -> None:
        self.tree, self.columns, self.forms = tree, columns, forms
        self._records = tree.dump.values.records

    @cached_property
    def numbers(self) -> list[int]:
        """The number of each value's fingerprint; NO_PRINT where it has none, and for index -1."""
        if [record.md5 for record in self._records].count(None) < len(self._records):
            return [*self._by_record(), NO_PRINT]
        table, recorded = self.columns.statistics.table, self.columns.statistics.recorded
        # One pattern of bits for what is equal: the addition makes 0.0 of -0.0.
        cells = np.ascontiguousarray(np.where(np.isnan(table), np.nan, table + 0.0).T)
        bits = cells.view(np.uint64)
        bits[~recorded.T] = _UNRECORDED
        weak = ~recorded[2:].any(axis=0)
        bits[weak, 2] += self._dtypes[weak]
        four = bits.view(np.dtype((np.void, bits.itemsize * 4))).ravel()
        _, numbers = np.unique(four, return_inverse=True)
        numbers[self._without()] = NO_PRINT
        return [*numbers.tolist(), NO_PRINT]

    @cached_property
    def _dtypes(self) -> NDArray[np.uint64]:
        """The dtype of each value as a small number from 1."""
        names = [canonical_dtype(form.dtype or "") for form in self.forms]
        known = {name: number for number, name in enumerate(dict.fromkeys(names), 1)}
        return np.array([known[name] for name in names], np.uint64)[self.columns.forms]

    def _by_record(self) -> Iterator[int]:
        known: dict[Hashable, int] = {None: NO_PRINT}
        for record in self._records:
            yield known.setdefault(fingerprint(record), len(known))

    def keys(self, numbers: Iterable[int]) -> frozenset[Hashable]:
        """The fingerprints behind numbers, which mean the same in every comparison."""
        return frozenset(
            None if number == NO_PRINT else fingerprint(self._records[self._index_of[number]])
            for number in numbers
        )

    @cached_property
    def sketches(self) -> list[int]:
        """The number of each value's sketch; equal ones hold the same elements in the same order.

        NO_PRINT where there is none, where the value has no fingerprint, and for index -1.
        """
        known = self.columns.sketches
        if known is None:
            return [NO_PRINT] * len(self.numbers)
        packed = np.ascontiguousarray(known.astype(np.float32))
        bits = packed.view(np.dtype((np.void, packed.itemsize * packed.shape[1]))).ravel()
        _, numbers = np.unique(bits, return_inverse=True)
        without = np.isnan(known[:, 0]) | (np.array(self.numbers[:-1]) == NO_PRINT)
        return [*np.where(without, NO_PRINT, numbers).tolist(), NO_PRINT]

    @cached_property
    def _index_of(self) -> dict[int, int]:
        """By fingerprint's number a value that has it: few of thousands are asked for."""
        return dict(zip(self.numbers, range(len(self._records))))

    def _without(self) -> NDArray[np.bool_]:
        """Which values say too little, as `fingerprint` has it for values without a checksum."""
        tensors = np.array([form.is_tensor for form in self.forms], dtype=bool)
        statistics = self.columns.statistics
        highest, lowest = statistics.table[:2]
        constant = (highest == lowest) & ((highest == 0) | (highest == 1))
        # An unrecorded maximum is NaN here, too.
        return np.asarray(~tensors[self.columns.forms] | np.isnan(highest) | constant)


class Producers:
    """The latest call that put out a value, among those before a point in execution order."""

    def __init__(self, prints: Fingerprints) -> None:
        self.prints = prints
        self.reached = 0  # later questions know the nodes before this place in execution order
        self._added = 0
        self._by_print: dict[int, TreeNode] = {}
        self._by_sketch: dict[int, TreeNode] = {}

    def of(self, index: int) -> TreeNode | None:
        """The call that produced the value with this index, as far as the dump tells.

        One with the same elements in the same order comes before one with the same statistics.
        """
        if self._added < self.reached:
            for node in self.prints.tree.in_order[self._added : self.reached]:
                self._add(node)
            self._added = self.reached
        same = self._by_sketch.get(self.prints.sketches[index])
        return same if same is not None else self._by_print.get(self.prints.numbers[index])

    @cached_property
    def _made(self) -> list[int]:
        """The fingerprint of each value that its call put out, NO_PRINT for what it read."""
        return self._of_outputs(self.prints.numbers)

    @cached_property
    def _made_sketches(self) -> list[int]:
        return self._of_outputs(self.prints.sketches)

    def _of_outputs(self, numbers: list[int]) -> list[int]:
        outputs = np.array([form.is_output for form in self.prints.forms], dtype=bool)
        known = np.array(numbers[:-1], dtype=np.int64)
        return list(np.where(outputs[self.prints.columns.forms], known, NO_PRINT).tolist())

    def _add(self, node: TreeNode) -> None:
        start, stop = node.values
        for made, makers in (
            (self._made, self._by_print),
            (self._made_sketches, self._by_sketch),
        ):
            for key in made[start:stop]:
                if key != NO_PRINT and not self._made_inside(makers.get(key), node):
                    makers[key] = node

    @staticmethod
    def _made_inside(known: TreeNode | None, node: TreeNode) -> bool:
        # A module does not hide the call inside it that made its output.
        if node.kind == "api":
            return False
        while known is not None and known is not node:
            known = known.parent
        return known is node
