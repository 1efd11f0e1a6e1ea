"""All nodes of one pair in memory: what is searched by name and listed by state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from builder.database.names import NameIndex
from builder.database.node_filter import NodeFilter
from builder.database.pair_columns import Bools, Ints, PairColumns, from_rows
from builder.database.patches import Patches
from builder.database.records import Side


@dataclass(frozen=True, slots=True)
class PairIndex:
    """The columns and the names of the nodes of a pair, row by row."""

    columns: PairColumns
    names: NameIndex

    @classmethod
    def from_rows(cls, problem: Sequence[Any], benchmark: Sequence[Any]) -> PairIndex:
        """An index of plain rows with the cells of `pair_columns.WANTED`."""
        names = [str(row[-1]) for side in (problem, benchmark) for row in side]
        return cls(from_rows(problem, benchmark), NameIndex(names))

    def select(self, wanted: NodeFilter, patches: Patches, threshold: float | None) -> Ints:
        """The ids of the nodes that a filter lets through, in its order."""
        columns = self.columns.patched(patches.nodes) if patches.nodes else self.columns
        chosen = columns.chosen(wanted, threshold)
        if wanted.name:
            chosen &= self.names.containing(wanted.name, case=False)
        rank = self.names.rank if wanted.sort == "name" else None
        return columns.ordered(chosen, wanted, rank)

    def search(self, text: str, *, expression: bool, case: bool, side: Side | None) -> Ints:
        """The ids of the nodes whose names have a text, or match an expression, in their order.

        Raises ExpressionError.
        """
        find = self.names.matching if expression else self.names.containing
        hit: Bools = find(text, case=case)
        if side is not None:
            hit = hit & (self.columns.problem == (side == "problem"))
        return np.asarray(self.columns.id[hit])
