"""Everything that is asked of a result database; all of its SQL stands here.

A reader sees the file through patches, which lie over it without being in it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import msgspec
from sqlalchemy import ColumnElement, Connection, Engine, Row, select

from builder.database.across import find_everywhere
from builder.database.opening import open_engine
from builder.database.pair_cells import read_cells
from builder.database.pair_index import PairIndex
from builder.database.patches import GraphChange, NodeSource, Patches
from builder.database.records import (
    Across,
    AcrossCell,
    Children,
    CommunicationLink,
    Finding,
    Findings,
    Graph,
    Measure,
    Node,
    NodeDetails,
    NodePath,
    Pair,
    PairGraphs,
    Reason,
    Side,
    Stacks,
    Status,
    Summary,
    ValuePair,
)
from builder.database.schema import communication, finding, graph, meta, node, stack, value
from builder.database.value_pairs import pair_up
from builder.diagnosis.walk import THRESHOLD

# In the order of the record's fields.
_FIELDS = Node.__struct_fields__
_NODE_COLUMNS = tuple("exec_order" if f == "order" else f for f in _FIELDS if f != "side")


# SQLite before 3.32 takes no more in one statement.
_MOST_PARAMETERS = 900
_LARGEST = 2**63 - 1  # of SQLite; a request may ask for more


class UnknownNodeError(LookupError):
    """A node, step or rank that the database does not have."""


class ResultDatabase:
    """A database of this tool, open for reading by any number of threads."""

    def __init__(self, path: Path, patches: Patches | None = None) -> None:
        self.file = path
        self.patches = patches or Patches()
        self._engine = open_engine(path)

    def with_patches(self, patches: Patches) -> ResultDatabase:
        """The same open file, seen through other patches."""
        seen = object.__new__(type(self))
        seen.__dict__.update(self.__dict__)
        seen.patches = patches
        seen.__dict__.pop("_nodes", None)
        return seen

    @property
    def engine(self) -> Engine:
        """The connections to the file."""
        return self._engine

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    @cached_property
    def meta(self) -> dict[str, str]:
        """The facts about the whole file."""
        with self._engine.connect() as connection:
            rows = connection.execute(select(meta.c.key, meta.c.value))
            return {row.key: row.value for row in rows}

    @cached_property
    def graphs(self) -> list[Row[Any]]:
        """All rows of the graph table by step, rank and side."""
        order = (graph.c.step, graph.c.rank, graph.c.side.desc(), graph.c.id)
        with self._engine.connect() as connection:
            return list(connection.execute(select(graph).order_by(*order)))

    @cached_property
    def sides(self) -> dict[int, Side]:
        """The side of each graph."""
        return {row.id: row.side for row in self.graphs}

    @cached_property
    def options(self) -> dict[str, Any]:
        """The options of the build."""
        return _object(self.meta.get("options"))

    @property
    def comparison(self) -> bool:
        """Whether the file holds two sides."""
        return "benchmark" in self.meta

    @property
    def threshold(self) -> float:
        """The score above which a value diverges."""
        return float(self.options.get("threshold", THRESHOLD))

    @cached_property
    def _nodes(self) -> NodeSource:
        return NodeSource(self.patches)

    def summary(self) -> Summary:
        """The database as a whole, with one record for each step and rank."""
        return Summary(
            task=self.meta.get("task", "structure"),  # type: ignore[arg-type]
            comparison=self.comparison,
            tool_version=self.meta.get("tool_version", "unknown"),
            created=self.meta.get("created", ""),
            problem=self.meta.get("problem", ""),
            benchmark=self.meta.get("benchmark"),
            overflow_checked=bool(self.options.get("overflow_check")),
            summary=_reasons(self.meta.get("summary")),
            pairs=[self._pair(rows) for rows in self._by_pair().values()],
        )

    def pair(self, step: int, rank: int) -> PairGraphs:
        """Both graphs of a step and rank with their roots."""
        rows = self._pair_rows(step, rank)
        status, error = _state(rows)
        roots = {n.id: n for n in self.nodes_by_id(r.root for r in rows if r.root is not None)}
        sides = {r.side: _graph(r, roots[r.root]) for r in rows if r.root in roots}
        return PairGraphs(step, rank, status, error, sides.get("problem"), sides.get("benchmark"))

    def node(self, id_: int) -> Node:
        """One node; raises UnknownNodeError."""
        found = self.nodes_by_id([id_])
        if not found:
            raise UnknownNodeError(f"{self.file.name} has no node {id_}")
        return found[0]

    def nodes_by_id(self, ids: Iterable[int]) -> list[Node]:
        """The nodes with these ids in the order given; unknown ones are left out."""
        wanted = [id_ for id_ in ids if id_ <= _LARGEST]
        found: dict[int, Node] = {}
        for start in range(0, len(wanted), _MOST_PARAMETERS):
            part = wanted[start : start + _MOST_PARAMETERS]
            found |= {n.id: n for n in self._select(node.c.id.in_(part))}
        return [found[id_] for id_ in wanted if id_ in found]

    def children(self, id_: int, offset: int, limit: int) -> Children:
        """A page of a node's children."""
        parent = self.node(id_)
        page = node.c.parent == id_, node.c.position >= offset, node.c.position < offset + limit
        return Children(id_, parent.children, offset, self._select(*page, order=[node.c.position]))

    def path(self, id_: int) -> NodePath:
        """From the root down to a node."""
        step = select(node.c.id, node.c.parent).where(node.c.id == id_).cte("above", recursive=True)
        # A parent always has a smaller id; anything else is a cycle in a file made by hand.
        above = node.c.id == step.c.parent, node.c.id < step.c.id
        step = step.union_all(select(node.c.id, node.c.parent).where(*above))
        ids = node.c.id.in_(select(step.c.id))
        found = self._select(ids, order=[node.c.id]) if id_ <= _LARGEST else []
        if not found:
            raise UnknownNodeError(f"{self.file.name} has no node {id_}")
        return NodePath(found)

    def details(self, id_: int) -> NodeDetails:
        """A node with its partner, values, stacks and communication partners."""
        own = self.node(id_)
        partner = next(iter(self.nodes_by_id([own.match])), None) if own.match else None
        problem, benchmark = (own, partner) if own.side == "problem" else (partner, own)
        with self._engine.connect() as connection:
            return NodeDetails(
                node=own,
                partner=partner,
                values=_with_measures(self._values(connection, problem, benchmark), problem),
                stack=Stacks(
                    _stack(connection, problem) if problem else None,
                    _stack(connection, benchmark) if benchmark else None,
                ),
                communication=_links(connection, id_),
            )

    def across(self, id_: int) -> Across:
        """A node in all steps and ranks that have both its name and what stands above it."""
        path = self.path(id_).path
        with self._engine.connect() as connection:
            places = find_everywhere(connection, path)
        found = {n.id: n for n in self.nodes_by_id(places.values())}
        here = path[-1]
        cells = [_cell(place, found.get(places.get(place, -1))) for place in self._by_pair()]
        return Across(here.name, here.side, cells)

    def findings(self, step: int | None = None, rank: int | None = None) -> Findings:
        """The suspects of all pairs, or of those with this step and this rank."""
        chosen = [
            column == number
            for column, number in ((graph.c.step, step), (graph.c.rank, rank))
            if number is not None
        ]
        joined = finding.join(graph, graph.c.id == finding.c.graph)
        query = select(finding, graph.c.step, graph.c.rank).select_from(joined).where(*chosen)
        with self._engine.connect() as connection:
            rows = list(connection.execute(query.order_by(finding.c.id)))
        nodes = {n.id: n for n in self.nodes_by_id({row.node for row in rows})}
        found = [_finding(row, nodes[row.node]) for row in rows if row.node in nodes]
        return Findings(found, self.threshold)

    def dump_folder(self, graph_id: int) -> Path | None:
        """The folder that a graph was read from; None when it is not known."""
        folders = {row.id: row.dump_dir for row in self.graphs}
        return Path(folders[graph_id]) if folders.get(graph_id) else None

    def pair_index(self, step: int, rank: int) -> PairIndex:
        """All nodes of a pair as lists and searches need them, to be kept by the caller."""
        graphs = {row.side: row.id for row in self._pair_rows(step, rank)}
        with self._engine.connect() as connection:
            # The driver's own cursor: what is read is text, not records.
            cursor = cast("sqlite3.Cursor", connection.connection.cursor())
            sides = [read_cells(cursor, graphs.get(side)) for side in ("problem", "benchmark")]
            cursor.close()
        return PairIndex.from_cells(*sides)

    def _by_pair(self) -> dict[tuple[int, int], list[Row[Any]]]:
        pairs: dict[tuple[int, int], list[Row[Any]]] = {}
        for row in self.graphs:
            pairs.setdefault((row.step, row.rank), []).append(row)
        return pairs

    def _pair_rows(self, step: int, rank: int) -> list[Row[Any]]:
        rows = self._by_pair().get((step, rank))
        if rows is None:
            raise UnknownNodeError(f"{self.file.name} has no step {step} rank {rank}")
        return rows

    def _pair(self, rows: Sequence[Row[Any]]) -> Pair:
        status, error = _state(rows)
        sides = {row.side: row for row in rows if row.status == "ok"}
        problem, benchmark = sides.get("problem"), sides.get("benchmark")
        change = self.patches.graphs.get(problem.id if problem else -1, GraphChange())
        matched = (problem.matched if problem else 0) + change.matched
        known = [w for w in (problem.worst if problem else None, change.worst) if w is not None]
        return Pair(
            step=rows[0].step,
            rank=rows[0].rank,
            status=status,
            error=error,
            worst=max(known, default=None),
            divergent=(problem.divergent if problem else 0) + change.divergent,
            matched=matched,
            unmatched_problem=problem.nodes - matched if problem and benchmark else 0,
            unmatched_benchmark=benchmark.nodes - matched if benchmark else 0,
        )

    def _select(
        self,
        *where: ColumnElement[bool],
        order: Sequence[ColumnElement[Any]] = (),
    ) -> list[Node]:
        source = self._nodes
        query = select(*(source[name] for name in _NODE_COLUMNS)).select_from(source.table)
        query = query.where(*where).order_by(*order)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return [_node(row, self.sides) for row in rows]

    def _values(
        self, connection: Connection, problem: Node | None, benchmark: Node | None
    ) -> list[ValuePair]:
        sides = [
            list(connection.execute(select(value).where(value.c.node == n.id).order_by(value.c.id)))
            if n is not None
            else []
            for n in (problem, benchmark)
        ]
        measured = self.patches.values.get(problem.id) if problem is not None else None
        return pair_up(sides[0], sides[1], measured)


def _with_measures(pairs: list[ValuePair], problem: Node | None) -> list[ValuePair]:
    """Put what extensions measured beside the measures of each value."""
    added: dict[str, dict[str, Measure]] = {}
    for reason in problem.reasons if problem is not None else ():
        if reason["code"] == "measure":
            number = cast("Measure", reason["number"])
            added.setdefault(str(reason["value"]), {})[str(reason["name"])] = number
    if not added:
        return pairs
    return [
        msgspec.structs.replace(
            pair, measures={**pair.measures, **added.get(f"{pair.role}.{pair.path}", {})}
        )
        for pair in pairs
    ]


def _node(row: Row[Any], sides: dict[int, Side]) -> Node:
    id_, graph_id, *cells, reasons = tuple(row)
    cells[9] = bool(cells[9])
    fields: list[Any] = [id_, graph_id, sides.get(graph_id), *cells, _reasons(reasons)]
    return Node(*fields)


def _cell(place: tuple[int, int], found: Node | None) -> AcrossCell:
    if found is None:
        return AcrossCell(*place, None, None, None, None, None)
    return AcrossCell(
        *place, found.id, found.score, found.input_score, found.verdict, found.overflow
    )


def _graph(row: Row[Any], root: Node) -> Graph:
    return Graph(
        id=row.id,
        side=row.side,
        framework=row.framework,
        level=row.level,
        dump_dir=row.dump_dir,
        micro_steps=row.micro_steps,
        nodes=row.nodes,
        root=root,
    )


def _finding(row: Row[Any], named: Node) -> Finding:
    return Finding(
        id=row.id,
        step=row.step,
        rank=row.rank,
        kind=row.kind,
        node=named,
        score=row.score,
        input_score=row.input_score,
        introduced=row.introduced,
        reasons=_reasons(row.reasons),
        propagated_to=row.propagated_to,
    )


def _state(rows: Sequence[Row[Any]]) -> tuple[Status, str | None]:
    return next(((r.status, r.error) for r in rows if r.status != "ok"), ("ok", None))


def _stack(connection: Connection, of: Node) -> list[str] | None:
    joined = node.join(stack, stack.c.id == node.c.stack)
    query = select(stack.c.text).select_from(joined).where(node.c.id == of.id)
    text = connection.execute(query).scalar()
    return text.splitlines() if text else None


def _links(connection: Connection, id_: int) -> list[CommunicationLink]:
    joined = communication.outerjoin(node, node.c.id == communication.c.peer_node)
    columns = (communication.c.kind, communication.c.peer_rank, communication.c.peer_node)
    query = select(*columns, node.c.name).select_from(joined)
    rows = connection.execute(query.where(communication.c.node == id_))
    return [CommunicationLink(*row) for row in rows]


def _reasons(text: str | None) -> list[Reason]:
    if not text:
        return []
    try:
        listed = json.loads(text)
        return [dict(reason) for reason in listed if reason["code"]]
    except (ValueError, TypeError, KeyError):
        return [{"code": "unreadable_reasons", "text": str(text)[:200]}]


def _object(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
