"""All nodes of one pair in memory: what is searched by name and listed by state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from builder.database.names import NameIndex
from builder.database.node_filter import NodeFilter
from builder.database.pair_cells import Cells
from builder.database.pair_columns import Bools, Ints, PairColumns, from_cells
from builder.database.patches import Patches
from builder.database.records import Side


@dataclass(frozen=True, slots=True)
class PairIndex:
    """The columns and the names of the nodes of a pair, row by row."""

    columns: PairColumns
    names: NameIndex

    @classmethod
    def from_cells(cls, problem: Cells, benchmark: Cells) -> PairIndex:
        """An index of what both sides hold: `pair_columns.SQL_CELLS`, and the names."""
        *cells, names = ([*p, *b] for p, b in zip(problem, benchmark, strict=True))
        return cls(from_cells(cells, len(problem[0])), NameIndex([str(name) for name in names]))

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
