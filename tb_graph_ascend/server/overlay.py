"""Applies manual pairs over a database: measured with the builder's own code, the file unchanged.

Pairs are taken in their order; one that cannot be applied is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, Row

from builder.compare.score import Tolerance
from builder.match.manual_file import MappedPair
from builder.match.nodes import MatchRules, match_trees
from builder.reasons import decode
from builder.results.database import ResultDatabase
from builder.results.dump_files import without_unsafe_files
from builder.results.manual.measured_pair import MeasuredPair, MeasuredValue, measure_pair
from builder.results.manual.patches import GraphChange, NodePatch, Patches
from builder.results.manual.stored_nodes import (
    StoredTree,
    find_nodes,
    following,
    read_subtree,
    rows_with_ancestors,
    stored_nodes,
    subtree_size,
)
from builder.results.records import Refusal
from tb_graph_ascend.server.messages import Refused

# Measuring takes half a millisecond per pair; above this a new build is the better way.
MOST_PAIRS = 5_000


@dataclass(frozen=True, slots=True)
class Overlay:
    """What manual pairs do: the patches, which pair each problem node came from, and refusals."""

    patches: Patches = field(default_factory=Patches)
    origin: dict[int, int] = field(default_factory=dict)
    refused: tuple[tuple[int, Refused], ...] = ()


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A pair of rows, and the index of the manual pair that asked for it."""

    problem: Row[Any]
    benchmark: Row[Any]
    index: int


@dataclass(frozen=True, slots=True)
class _Mapped(_Wanted):
    """A pair of rows with its measures."""

    measured: MeasuredPair


class _Application:
    def __init__(self, database: ResultDatabase, connection: Connection) -> None:
        self.database = database
        self.connection = connection
        self.mapped: list[_Wanted] = []
        self.taken: dict[int, str] = {}
        self.named: Sequence[MappedPair] = ()
        self.refused: list[tuple[int, Refused]] = []
        self.tolerance = tolerance_of(database.stored.options)

    def apply(self, index: int, pair: MappedPair, problem: Row[Any], benchmark: Row[Any]) -> None:
        """Take one pair of nodes, and what lies below when that is wanted."""
        if self.taken.get(problem.id) == benchmark.name:
            return  # as what is inside another pair, and just as it is wanted
        reason = self._objection(problem, benchmark, pair.descendants)
        if reason is not None:
            self._refuse(index, problem.name, benchmark.name, reason)
            return
        if not pair.descendants:
            self._map(index, problem, benchmark)
            return
        ours = read_subtree(self.connection, problem, below=True)
        theirs = read_subtree(self.connection, benchmark, below=True)
        for one, other in self._matched_below(index, ours, theirs):
            self._map(index, one, other)

    def follow(self, problem: Row[Any], benchmark: Row[Any], first: int) -> None:
        """Pair the backward passes and gradients of what was mapped from `first` on.

        Backward calls go with their forward calls, as they do in the builder; what does not fit
        stays unmatched, since nobody asked for it by name.
        """
        wanted = [
            (m.index, one, other)
            for m in self.mapped[first:]
            for one, other in zip(following(m.problem.name), following(m.benchmark.name))
        ]
        ours = find_nodes(self.connection, problem.id, {one for _, one, _ in wanted})
        theirs = find_nodes(self.connection, benchmark.id, {other for _, _, other in wanted})
        for index, one, other in wanted:
            rows = ours.get(one), theirs.get(other)
            if rows[0] is None or rows[1] is None:
                continue
            if self._objection(rows[0], rows[1], below=False) is None:
                self._map(index, rows[0], rows[1])

    def _matched_below(
        self, index: int, ours: StoredTree, theirs: StoredTree
    ) -> Iterator[tuple[Row[Any], Row[Any]]]:
        tops = MappedPair(ours.tree.root.name, theirs.tree.root.name, descendants=True)
        # What is named inside goes before what names and order would pair there.
        matching = match_trees(ours.tree, theirs.tree, MatchRules(manual=[tops, *self.named]))
        for node, row in ours.rows.items():
            partner = matching.partner.get(node)
            if row.kind == "collection":
                continue
            if partner is None:
                reason: Refusal = {"code": matching.reason.get(node, "absent").partition(":")[0]}
                self._refuse(index, row.name, None, reason)
                continue
            other = theirs.rows[partner]
            if self.taken.get(row.id) == other.name:
                continue
            objection = self._objection(row, other, below=False)
            if objection is None:
                yield row, other
            else:
                self._refuse(index, row.name, other.name, objection)

    def _objection(self, problem: Row[Any], benchmark: Row[Any], below: bool) -> Refusal | None:
        if "root" in (problem.kind, benchmark.kind) or "collection" in (
            problem.kind,
            benchmark.kind,
        ):
            return {"code": "not_mappable"}
        for row, side in ((problem, "problem"), (benchmark, "benchmark")):
            partner = self._partner_name(row)
            if partner is not None:
                return {"code": "already_matched", "side": side, "partner": partner}
        for attribute in ("kind", "direction"):
            one, other = getattr(problem, attribute), getattr(benchmark, attribute)
            if one != other:
                return {"code": f"{attribute}_differs", "problem": one, "benchmark": other}
        size = subtree_size(problem) if below else 1
        if len(self.mapped) + size > MOST_PAIRS:
            return {"code": "too_many", "most": MOST_PAIRS}
        return None

    def _partner_name(self, row: Row[Any]) -> str | None:
        if row.id in self.taken:
            return self.taken[row.id]
        return self.database.node(row.match).name if row.match is not None else None

    def _map(self, index: int, problem: Row[Any], benchmark: Row[Any]) -> None:
        self.mapped.append(_Wanted(problem, benchmark, index))
        self.taken[problem.id] = benchmark.name
        self.taken[benchmark.id] = problem.name

    def measured(self) -> list[_Mapped]:
        """All that was taken with its measures; the values of all are read together."""
        task = self.database.stored.meta.get("task", "statistics")
        graphs = {row.id: row for row in self.database.stored.graphs}
        rows = [row for m in self.mapped for row in (m.problem, m.benchmark)]
        nodes = stored_nodes(self.connection, rows, graphs, task)
        mapped = []
        for m in self.mapped:
            ours, theirs = (without_unsafe_files(nodes[row.id]) for row in (m.problem, m.benchmark))
            measures = measure_pair(ours, theirs, m.problem.block or 0, self.tolerance)
            mapped.append(_Mapped(m.problem, m.benchmark, m.index, measures))
        return mapped

    def _refuse(self, index: int, problem: str, benchmark: str | None, reason: Refusal) -> None:
        self.refused.append((index, Refused(problem, benchmark, reason)))


def tolerance_of(options: Mapping[str, Any]) -> Tolerance:
    """The tolerance that a file was built with, from the options that it keeps."""
    constants = options.get("tolerance")
    given = constants if isinstance(constants, dict) else {}
    return Tolerance(**{k: float(given[k]) for k in ("factor", "growth") if k in given})


def lay_over(database: ResultDatabase, pairs: Sequence[MappedPair]) -> Overlay:
    """Apply manual pairs to all steps and ranks that they are meant for.

    Names that a graph does not have are refused only where the pair names its step and rank; pairs
    that the file was built with are in it already.
    """
    if not database.comparison or set(pairs) <= set(database.stored.manual_pairs):
        return Overlay()
    database = database.with_patches(Patches())
    with database.stored.engine.connect() as connection:
        application = _Application(database, connection)
        for problem, benchmark in _graph_pairs(database):
            _apply_to_graph(application, pairs, problem, benchmark)
        return Overlay(
            _patches(application),
            {mapped.problem.id: mapped.index for mapped in application.mapped},
            tuple(application.refused),
        )


def _apply_to_graph(
    application: _Application,
    pairs: Sequence[MappedPair],
    problem: Row[Any],
    benchmark: Row[Any],
) -> None:
    built = set(application.database.stored.manual_pairs)
    wanted = [
        (i, p)
        for i, p in enumerate(pairs)
        if p not in built and p.applies_to(problem.step, problem.rank)
    ]
    if not wanted:
        return
    connection = application.connection
    ours = find_nodes(connection, problem.id, {p.problem for _, p in wanted})
    theirs = find_nodes(connection, benchmark.id, {p.benchmark for _, p in wanted})
    first = len(application.mapped)
    application.named = [pair for _, pair in wanted]
    for index, pair in wanted:
        one, other = ours.get(pair.problem), theirs.get(pair.benchmark)
        if one is not None and other is not None:
            application.apply(index, pair, one, other)
        elif None not in (pair.step, pair.rank):
            side = "problem" if one is None else "benchmark"
            refused = Refused(pair.problem, pair.benchmark, {"code": "unknown_name", "side": side})
            application.refused.append((index, refused))
    application.follow(problem, benchmark, first)


def _graph_pairs(database: ResultDatabase) -> Iterator[tuple[Row[Any], Row[Any]]]:
    sides: dict[tuple[int, int], dict[str, Row[Any]]] = {}
    for row in database.stored.graphs:
        if row.status == "ok":
            sides.setdefault((row.step, row.rank), {})[row.side] = row
    for both in sides.values():
        if len(both) == 2:
            yield both["problem"], both["benchmark"]


def _patches(application: _Application) -> Patches:
    mapped = application.measured()
    ids = [row.id for m in mapped for row in (m.problem, m.benchmark)]
    rows = rows_with_ancestors(application.connection, ids)
    nodes: dict[int, NodePatch] = {}
    worst, divergent = _below(mapped, rows, application.database.threshold)
    for id_, row in rows.items():
        if id_ in worst:
            nodes[id_] = _patch(row, worst[id_], row.divergent_below + divergent.get(id_, 0))
    values: dict[int, Sequence[MeasuredValue]] = {}
    for m in mapped:
        below = nodes.get(m.problem.id) or _patch(m.problem)
        nodes[m.problem.id] = _measured_patch(m, below)
        nodes[m.benchmark.id] = _partner_patch(m)
        values[m.problem.id] = m.measured.values
    return Patches(nodes, _changes(mapped, application.database.threshold), values)


def _below(
    mapped: Sequence[_Mapped], rows: dict[int, Row[Any]], threshold: float
) -> tuple[dict[int, float], dict[int, int]]:
    """The worst score and the added count of divergent nodes of everything above a scored pair."""
    worst: dict[int, float] = {}
    divergent: dict[int, int] = {}
    for m in mapped:
        score = m.measured.score
        above = m.problem.parent
        while score is not None and above is not None:
            known = worst.get(above, rows[above].worst_below)
            worst[above] = score if known is None else max(known, score)
            divergent[above] = divergent.get(above, 0) + (score > threshold)
            above = rows[above].parent
    return worst, divergent


def _patch(row: Row[Any], worst: float | None = None, divergent: int | None = None) -> NodePatch:
    return NodePatch(
        match=row.match,
        match_reason=row.match_reason,
        score=row.score,
        input_score=row.input_score,
        introduced=row.introduced,
        verdict=row.verdict,
        worst_below=row.worst_below if worst is None else worst,
        divergent_below=row.divergent_below if divergent is None else divergent,
        reasons=decode(row.reasons),
    )


def _measured_patch(mapped: _Mapped, below: NodePatch) -> NodePatch:
    measured = mapped.measured
    return replace(
        below,
        match=mapped.benchmark.id,
        match_reason="manual",
        score=measured.score,
        input_score=measured.input_score,
        introduced=measured.introduced,
        verdict=measured.verdict,
        reasons=tuple(measured.reasons),
    )


def _partner_patch(mapped: _Mapped) -> NodePatch:
    row = mapped.benchmark
    return replace(_patch(row), match=mapped.problem.id, match_reason="manual")


def _changes(mapped: Sequence[_Mapped], threshold: float) -> dict[int, GraphChange]:
    changes: dict[int, GraphChange] = {}
    for m in mapped:
        known = changes.get(m.problem.graph, GraphChange())
        scores = [s for s in (known.worst, m.measured.score) if s is not None]
        changes[m.problem.graph] = GraphChange(
            matched=known.matched + 1,
            divergent=known.divergent + ((m.measured.score or 0.0) > threshold),
            worst=max(scores, default=None),
        )
    return changes
