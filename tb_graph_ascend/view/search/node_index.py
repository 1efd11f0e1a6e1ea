"""All nodes of one pair in memory: what is searched by name and listed by state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from builder.results.followers.rows import MergedRows, merge
from builder.results.manual.patches import Patches
from builder.results.node_words import DIRECTIONS, KINDS, LEVELS, Bools, Floats, Ints
from builder.results.reading import Results
from builder.results.records import Side
from builder.results.side_nodes import SideNodes
from tb_graph_ascend.view.search.columns import FIELD_CODES, PairColumns
from tb_graph_ascend.view.search.names import NameIndex
from tb_graph_ascend.view.search.node_filter import NodeFilter
from tb_graph_ascend.view.search.query import (
    Bound,
    Expression,
    Field,
    InState,
    Operator,
    State,
    Term,
    Word,
)
from tb_graph_ascend.view.search.scores_alone import scores_alone
from tb_graph_ascend.view.search.shown_modules import ShownModules


@dataclass
class PairIndex:
    """The columns and names of the nodes of a pair, row by row.

    `read_alone` gives the scores that nodes without a partner are shown with, by their ids.
    """

    columns: PairColumns
    names: NameIndex
    sides: tuple[SideNodes, SideNodes]
    read_alone: Callable[[Sequence[int]], Mapping[int, float]] = lambda ids: {}
    _seen: tuple[Patches, Listed] | None = field(default=None, init=False)

    @classmethod
    def of(
        cls,
        problem: SideNodes,
        benchmark: SideNodes,
        read_alone: Callable[[Sequence[int]], Mapping[int, float]] = lambda ids: {},
    ) -> PairIndex:
        """An index of both sides."""
        names = NameIndex(problem.names, benchmark.names)
        return cls(_columns(problem, benchmark), names, (problem, benchmark), read_alone)

    @cached_property
    def _alone(self) -> Floats:
        """For each node without a partner the score of what it hands on; read when first asked."""
        scores = np.full(len(self.columns.id), np.nan)
        places = np.flatnonzero(~self.columns.matched)
        ids = self.columns.id[places].tolist()
        known = self.read_alone(ids)
        scores[places] = [known.get(id_, np.nan) for id_ in ids]
        return scores

    def scored(self, columns: PairColumns) -> PairColumns:
        """The columns with the scores of nodes without a partner."""
        return replace(columns, score=np.where(columns.matched, columns.score, self._alone))

    @cached_property
    def modules(self) -> ShownModules:
        """The module that each node is listed in."""
        return ShownModules.of(*self.sides)

    def select(self, wanted: NodeFilter, patches: Patches, threshold: float | None) -> Ints:
        """The ids of the nodes that a filter lets through, in its order."""
        columns = self.columns.patched(patches.nodes) if patches.nodes else self.columns
        chosen = columns.chosen(wanted, threshold)
        if wanted.name:
            chosen &= self.names.containing(wanted.name, case=False)[self.names.place]
        rank = self.names.rank if wanted.sort == "name" else None
        return columns.ordered(np.flatnonzero(chosen), wanted, rank)

    def query(
        self, terms: Sequence[Term], wanted: NodeFilter, patches: Patches, threshold: float | None
    ) -> tuple[Ints, Floats]:
        """The ids of the matched pairs and unmatched nodes that fit a query, ordered as wanted.

        A matched pair is one hit, its problem node. What only holds others together, as the root,
        is no node of a dump: it is listed where the query asks for its kind. With the hits come
        the numbers that rise along that order. Raises ExpressionError.
        """
        listed = self.listed_through(patches)
        if wanted.sort == "score" or any(map(_is_of_scores, terms)):
            listed = replace(listed, columns=self.scored(listed.columns))
        asked = any(isinstance(term, Field) and term.name == "kind" for term in terms)
        chosen = np.ones(len(listed.rows), dtype=bool) if asked else ~listed.views
        for term in terms:
            fits = listed.fitting(term, threshold)
            # A word that no node has in its name may be that of the module which the list prints.
            if isinstance(term, Word) and not (fits & ~listed.views).any():
                fits = listed.at_either(self.modules.containing(term.text))
            chosen &= ~fits if term.negated else fits
        rows = listed.rows[chosen]
        columns = listed.columns
        if wanted.sort == "order":
            # They stand so already, be there a million of them.
            keys = np.flatnonzero(chosen).astype(np.float64)
            turned = slice(None, None, -1 if wanted.descending else 1)
            return columns.id[rows][turned], (-keys if wanted.descending else keys)[turned]
        rank = self.names.rank if wanted.sort == "name" else None
        return columns.ordered_with_keys(rows, wanted, rank)

    @cached_property
    def _listed(self) -> Listed:
        return Listed.of(self.columns, self.names, merge(*self.sides))

    def listed_through(self, patches: Patches) -> Listed:
        """The rows of a list as patches have them; the last are kept while one types."""
        if not patches.nodes:
            return self._listed
        seen = self._seen
        if seen is None or seen[0] is not patches:
            rows = merge(*(side.patched(patches.nodes) for side in self.sides))
            seen = patches, Listed.of(self.columns.patched(patches.nodes), self.names, rows)
            self._seen = seen
        return seen[1]

    def prepare(self) -> None:
        """Lay out now what the first query needs."""
        _ = self._listed, self.modules
        self.names.prepare()

    def is_named(self, word: str) -> bool:
        """Whether any node, or the module that it is listed in, has a word in its name."""
        return bool(
            self.names.containing(word, case=False).any() or self.modules.containing(word).any()
        )

    def search(self, text: str, *, expression: bool, case: bool, side: Side | None) -> Ints:
        """The ids of the nodes whose names have a text, or match an expression, in their order.

        Raises ExpressionError.
        """
        find = self.names.matching if expression else self.names.containing
        hit: Bools = find(text, case=case)[self.names.place]
        if side is not None:
            hit = hit & (self.columns.problem == (side == "problem"))
        return np.asarray(self.columns.id[hit])


def _is_of_scores(term: Term) -> bool:
    return isinstance(term, Bound) and term.column == "score"


def _columns(problem: SideNodes, benchmark: SideNodes) -> PairColumns:
    def both(name: str) -> Any:  # noqa: ANN401 - of whichever kind the column is
        return np.concatenate((getattr(problem, name), getattr(benchmark, name)))

    match = both("match")
    return PairColumns(
        id=both("id"),
        problem=np.arange(len(match)) < len(problem),
        order=both("order"),
        kind=both("kind"),
        direction=both("direction"),
        matched=match >= 0,
        score=both("score"),
        introduced=both("introduced"),
        verdict=both("verdict"),
        overflow=both("overflow"),
        source=both("source"),
        input=both("input_score"),
        match=match,
    )


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list has a row for, as the page's rows stand: matched pairs, nodes without a partner.

    `rows` are their places in the columns, `partner` those of their partners, -1 where there is
    none; `name` and `other` are the places of both names.
    """

    columns: PairColumns
    names: NameIndex
    rows: Ints
    partner: Ints
    name: Ints
    other: Ints
    renamed: bool

    @classmethod
    def of(cls, columns: PairColumns, names: NameIndex, merged: MergedRows) -> Listed:
        """The rows of all nodes of a pair, in the order of both sides merged.

        The numbers of execution of two runs say nothing of each other.
        """
        partner = columns.partner_places()
        rows = np.flatnonzero(columns.problem | (partner < 0))
        rows = rows[np.argsort(merged.rows_of(columns.id[rows]), kind="stable")]
        partner = partner[rows]
        name = names.place[rows]
        other = np.where(partner >= 0, names.place[partner], name)
        return cls(columns, names, rows, partner, name, other, bool((name != other).any()))

    @property
    def views(self) -> Bools:
        """Which rows hold others together and are no nodes of a dump."""
        kind = self.columns.kind[self.rows]
        return np.asarray((kind == KINDS.index("root")) | (kind == KINDS.index("collection")))

    def fitting(self, term: Term, threshold: float | None) -> Bools:
        """For each row whether a term holds for it, or in names and levels for its partner."""
        match term:
            case Word(text):
                return self._named(self.names.containing(text, case=False))
            case Expression(pattern):
                return self._named(self.names.matching(pattern, case=False))
            case Bound(column, operator, number):
                cells = getattr(self.columns, column)[self.rows]
                return np.asarray(_COMPARE[operator](cells, number))
            case Field("side", side):
                here = self.columns.problem[self.rows] == (side == "problem")
                return np.asarray(here | (self.partner >= 0))
            case Field("overflow", level):
                return self.at_either(self.columns.overflow == LEVELS.index(level))
            case Field(name, value):
                codes = getattr(self.columns, name)[self.rows]
                return np.asarray(codes == FIELD_CODES[name].index(value))
            case InState(state):
                return self._in_state(state, threshold)

    def _in_state(self, state: State, threshold: float | None) -> Bools:
        columns = self.columns
        match state:
            case "forward" | "backward":
                return np.asarray(columns.direction[self.rows] == DIRECTIONS.index(state))
            case "matched":
                return np.asarray(columns.matched[self.rows])
            case "overflow":
                return self.at_either(columns.overflow >= 0)
            case "divergent" | "unmatched":
                return np.asarray(columns.shown(state, threshold)[self.rows])

    def _named(self, hit: Bools) -> Bools:
        """The rows of which either name is one of these."""
        fits = hit[self.name]
        return np.asarray(fits | hit[self.other]) if self.renamed else np.asarray(fits)

    def at_either(self, hit: Bools) -> Bools:
        """The rows of which either node is one of these."""
        return np.asarray(hit[self.rows] | ((self.partner >= 0) & hit[self.partner]))


_COMPARE: dict[Operator, Callable[[Floats, float], Bools]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
}


def pair_index(results: Results, step: int, rank: int) -> PairIndex:
    """All nodes of a pair as lists and searches need them, to be kept by the caller.

    Raises UnknownNodeError where the file has no such step and rank.
    """
    problem, benchmark = results.side_nodes(step, rank)
    return PairIndex.of(problem, benchmark, lambda ids: scores_alone(results, ids))
