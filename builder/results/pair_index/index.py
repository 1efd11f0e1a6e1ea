"""All nodes of one pair in memory: what is searched by name and listed by state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from builder.results.manual.patches import Patches
from builder.results.pair_index.cells import Cells
from builder.results.pair_index.columns import (
    DIRECTIONS,
    FIELD_CODES,
    LEVELS,
    Bools,
    Floats,
    Ints,
    PairColumns,
    from_cells,
)
from builder.results.pair_index.names import NameIndex
from builder.results.pair_index.node_filter import NodeFilter
from builder.results.pair_index.query import (
    Bound,
    Expression,
    Field,
    InState,
    Operator,
    State,
    Term,
    Word,
)
from builder.results.records import Side


@dataclass(frozen=True, slots=True)
class PairIndex:
    """The columns, names and places of partners of the nodes of a pair, row by row."""

    columns: PairColumns
    names: NameIndex
    partner: Ints

    @classmethod
    def from_cells(cls, problem: Cells, benchmark: Cells) -> PairIndex:
        """An index of what both sides hold: `pair_columns.SQL_CELLS`, and the names."""
        *cells, names = ([*p, *b] for p, b in zip(problem, benchmark, strict=True))
        columns = from_cells(cells, len(problem[0]))
        return cls(columns, NameIndex([str(name) for name in names]), columns.partner_places())

    def select(self, wanted: NodeFilter, patches: Patches, threshold: float | None) -> Ints:
        """The ids of the nodes that a filter lets through, in its order."""
        columns = self.columns.patched(patches.nodes) if patches.nodes else self.columns
        chosen = columns.chosen(wanted, threshold)
        if wanted.name:
            chosen &= self.names.containing(wanted.name, case=False)
        rank = self.names.rank if wanted.sort == "name" else None
        return columns.ordered(chosen, wanted, rank)

    def query(
        self, terms: Sequence[Term], wanted: NodeFilter, patches: Patches, threshold: float | None
    ) -> tuple[Ints, Floats]:
        """The ids of the matched pairs and unmatched nodes that fit a query, ordered as wanted.

        A matched pair is one hit, its problem node. With them come the numbers that rise along
        that order. Raises ExpressionError.
        """
        columns = self.columns.patched(patches.nodes) if patches.nodes else self.columns
        partner = columns.partner_places() if patches.nodes else self.partner
        rows = _Rows(columns, self.names, partner, threshold)
        chosen = columns.problem | (rows.partner < 0)
        for term in terms:
            fits = rows.fitting(term)
            chosen &= ~fits if term.negated else fits
        rank = self.names.rank if wanted.sort == "name" else None
        return columns.ordered_with_keys(chosen, wanted, rank)

    def search(self, text: str, *, expression: bool, case: bool, side: Side | None) -> Ints:
        """The ids of the nodes whose names have a text, or match an expression, in their order.

        Raises ExpressionError.
        """
        find = self.names.matching if expression else self.names.containing
        hit: Bools = find(text, case=case)
        if side is not None:
            hit = hit & (self.columns.problem == (side == "problem"))
        return np.asarray(self.columns.id[hit])


@dataclass(frozen=True, slots=True)
class _Rows:
    """The nodes of a pair, and for each the place of its partner, -1 where it has none."""

    columns: PairColumns
    names: NameIndex
    partner: Ints
    threshold: float | None

    def fitting(self, term: Term) -> Bools:
        """For each node whether a term holds for it, or in names and levels for its partner."""
        match term:
            case Word(text):
                return self._either(self.names.containing(text, case=False))
            case Expression(pattern):
                return self._either(self.names.matching(pattern, case=False))
            case Bound(column, operator, number):
                return np.asarray(_COMPARE[operator](getattr(self.columns, column), number))
            case Field("side", side):
                here = self.columns.problem == (side == "problem")
                return np.asarray(here | (self.partner >= 0))
            case Field("overflow", level):
                return self._either(self.columns.overflow == LEVELS.index(level))
            case Field(name, value):
                return np.asarray(getattr(self.columns, name) == FIELD_CODES[name].index(value))
            case InState(state):
                return self._in_state(state)

    def _in_state(self, state: State) -> Bools:
        columns = self.columns
        match state:
            case "forward" | "backward":
                return np.asarray(columns.direction == DIRECTIONS.index(state))
            case "matched":
                return np.asarray(columns.matched)
            case "overflow":
                return self._either(columns.overflow >= 0)
            case "divergent" | "unmatched":
                return columns.shown(state, self.threshold)

    def _either(self, hit: Bools) -> Bools:
        return np.asarray(hit | ((self.partner >= 0) & hit[self.partner]))


_COMPARE: dict[Operator, Callable[[Floats, float], Bools]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
}
