"""Reads the result files of msprobe's own builder through the interface of our queries.

They stay as they are: scores are the file's own precision index (0, 0.5, 1), and nothing is added.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection, Engine, text

from builder.errors import DatabaseError, UnknownNodeError
from builder.results.diff.flow_cells import NO_FLOW, FlowIds
from builder.results.diff.index import DiffIndex, index_of
from builder.results.diff.sides import SIDE_CELLS, from_cells
from builder.results.engine import open_engine
from builder.results.manual.patches import Patches
from builder.results.msprobe.flow import Cells, passed_in
from builder.results.msprobe.graph import (
    COLUMNS,
    THRESHOLD,
    MsprobePair,
    Passed,
    Row,
    listed,
    make_pair,
    overflow_of,
    score_of,
    verdict_of,
)
from builder.results.msprobe.values import cells_of, messages, pair_values, path_of, value_ids
from builder.results.pair_index.cells import by_column
from builder.results.pair_index.columns import packed
from builder.results.pair_index.index import PairIndex
from builder.results.records import (
    Across,
    AcrossCell,
    Children,
    CommunicationLink,
    Finding,
    Findings,
    FlowLink,
    Graph,
    Node,
    NodeDetails,
    NodeFlow,
    NodePath,
    Pair,
    PairGraphs,
    Side,
    Stacks,
    Summary,
    Task,
)
from builder.results.trace import Hop, Trace

_SOURCES: dict[Side, str] = {"problem": "NPU", "benchmark": "Bench"}
_TASKS: dict[str, Task] = {"summary": "statistics", "all": "tensor", "md5": "md5"}
_MOST_PAIRS_OPEN = 4
_MOST_NODES = 2_000_000
_MOST_FINDINGS = 100
_LARGEST_ROW = 2**63 - 1  # of SQLite; a request may ask for more
# Errors that no child explains, in order of completion.
_FINDINGS = """
    SELECT rowid, step, rank FROM tb_nodes AS n
    WHERE data_source = 'NPU' AND precision_index >= 0.6 AND node_type IN ('0', '1')
    AND (:step IS NULL OR step = :step) AND (:rank IS NULL OR rank = :rank)
    AND NOT EXISTS (
        SELECT 1 FROM tb_nodes AS c WHERE c.step = n.step AND c.rank = n.rank
        AND c.data_source = 'NPU' AND c.up_node = n.node_name AND c.precision_index >= 0.6)
    ORDER BY step, rank, node_order LIMIT :most
"""
_COUNTS = """
    SELECT step, rank, data_source, count(*), max(precision_index),
        sum(precision_index > :threshold),
        sum(matched_node_link NOT IN ('', '[]'))
    FROM tb_nodes WHERE node_type IN ('0', '1') AND up_node != '' GROUP BY 1, 2, 3
"""


class MsprobeDatabase:
    """A file of msprobe's own builder, open for reading by any number of threads."""

    threshold = THRESHOLD
    patches = Patches()

    def __init__(self, file: Path) -> None:
        self.file = file
        self._engine: Engine = open_engine(file)
        self._pairs: OrderedDict[tuple[int, int], MsprobePair] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    @cached_property
    def comparison(self) -> bool:
        """Whether the file holds two sides."""
        return str(self._config["graph_type"]) == "compare"

    @cached_property
    def _config(self) -> dict[str, Any]:
        with self._engine.connect() as connection:
            row = connection.execute(text("SELECT * FROM tb_config LIMIT 1")).mappings().first()
        if row is None:
            raise DatabaseError(f"{self.file}: its table tb_config is empty", "build it again")
        return dict(row)

    @cached_property
    def _counts(self) -> dict[tuple[int, int], dict[Side, tuple[Any, ...]]]:
        names = {source: side for side, source in _SOURCES.items()}
        counts: dict[tuple[int, int], dict[Side, tuple[Any, ...]]] = {}
        with self._engine.connect() as connection:
            for step, rank, source, *numbers in connection.execute(
                text(_COUNTS), {"threshold": THRESHOLD}
            ):
                if source in names:
                    counts.setdefault((step, rank), {})[names[source]] = tuple(numbers)
        return dict(sorted(counts.items()))

    def summary(self) -> Summary:
        """The database as a whole."""
        return Summary(
            task=_TASKS.get(str(self._config["task"]), "structure"),
            comparison=self.comparison,
            tool_version="msprobe",
            created="",
            problem="NPU",
            benchmark="Bench" if self.comparison else None,
            overflow_checked=bool(self._config["overflow_check"]),
            summary=[{"code": "msprobe_file"}],
            pairs=[self._pair(place, sides) for place, sides in self._counts.items()],
        )

    def pair(self, step: int, rank: int) -> PairGraphs:
        """Both graphs of a step and rank with their roots."""
        pair = self._load(step, rank)
        sides = {side: self._graph(pair, side, step, rank) for side in pair.roots}
        problem, benchmark = sides.get("problem"), sides.get("benchmark")
        return PairGraphs(step, rank, "ok", None, problem, benchmark)

    def node(self, id_: int) -> Node:
        """One node; raises UnknownNodeError."""
        return self._pair_of(id_).nodes[id_]

    def nodes_by_id(self, ids: Iterable[int]) -> list[Node]:
        """The nodes with these ids in the order given; unknown ones are left out."""
        nodes: list[Node] = []
        pair = MsprobePair()
        for id_ in ids:
            if id_ not in pair.nodes:
                pair = self._find_pair(id_) or pair
            if id_ in pair.nodes:
                nodes.append(pair.nodes[id_])
        return nodes

    def children(self, id_: int, offset: int, limit: int) -> Children:
        """A page of a node's children."""
        pair = self._pair_of(id_)
        listed_ids = pair.children[id_]
        page = [pair.nodes[child] for child in listed_ids[offset : offset + limit]]
        return Children(id_, len(listed_ids), offset, page)

    def path(self, id_: int) -> NodePath:
        """From the root down to a node."""
        nodes = self._pair_of(id_).nodes
        path = [nodes[id_]]
        while path[-1].parent is not None:
            path.append(nodes[path[-1].parent])
        return NodePath(path[::-1])

    def trace(self, id_: int) -> Trace:
        """The node alone: such a file does not say which output fed which input."""
        pair = self._pair_of(id_)
        own = pair.nodes[id_]
        facts = (own.id, own.name, own.side, own.order, own.score, own.input_score)
        step, rank = next(key for key, known in self._pairs.items() if known is pair)
        differs = max(own.score or 0.0, own.input_score or 0.0) > THRESHOLD
        start = Hop(*facts, "start", matched=own.match is not None)
        return Trace(step, rank, None, differs, [start])

    def details(self, id_: int) -> NodeDetails:
        """A node with its partner, values and stacks."""
        pair = self._pair_of(id_)
        own = pair.nodes[id_]
        partner = pair.nodes.get(own.match) if own.match is not None else None
        problem, benchmark = (own, partner) if own.side == "problem" else (partner, own)
        with self._engine.connect() as connection:
            ours, theirs = _data(connection, problem), _data(connection, benchmark)
            stacks = Stacks(_stack(connection, problem), _stack(connection, benchmark))
        said = messages(ours) if own.side == "problem" else []
        names = (problem.name if problem else "", benchmark.name if benchmark else "")
        return NodeDetails(
            node=msgspec.structs.replace(own, reasons=[*own.reasons, *said]),
            partner=partner,
            values=pair_values(ours, theirs, names),
            stack=stacks,
            communication=list[CommunicationLink](),
        )

    def across(self, id_: int) -> Across:
        """The node of this name in every step and rank."""
        own = self.node(id_)
        query = text(
            "SELECT rowid, precision_index, overflow_level FROM tb_nodes "
            "WHERE data_source = :source AND node_name = :name AND step = :step AND rank = :rank"
        )
        given = {"source": _SOURCES[own.side], "name": own.name}
        with self._engine.connect() as connection:
            rows = {
                place: connection.execute(
                    query, given | {"step": place[0], "rank": place[1]}
                ).first()
                for place in self._counts
            }
        return Across(own.name, own.side, [_cell(place, row) for place, row in rows.items()])

    def findings(self, step: int | None = None, rank: int | None = None) -> Findings:
        """The nodes that the file's own verdict calls an error and no child of theirs explains.

        Of at most four pairs and a hundred nodes: the file has no diagnosis of its own.
        """
        given = {"step": step, "rank": rank, "most": _MOST_FINDINGS}
        with self._engine.connect() as connection:
            rows = list(connection.execute(text(_FINDINGS), given))
        first = list(dict.fromkeys((row[1], row[2]) for row in rows))[:_MOST_PAIRS_OPEN]
        kept = [row for row in rows if (row[1], row[2]) in first]
        findings = [_finding(place, row, self.node(row[0])) for place, row in enumerate(kept, 1)]
        return Findings(findings, THRESHOLD)

    def followers(self, ids: Sequence[int]) -> int:
        """Such a file lays nothing to a node."""
        return 0

    def pair_index(self, step: int, rank: int) -> PairIndex:
        """All nodes of a pair as lists and searches need them."""
        nodes = self._load(step, rank).nodes.values()
        sides = [[_index_row(n) for n in nodes if n.side == side] for side in _SOURCES]
        return PairIndex.from_cells(*(by_column(rows) for rows in sides))

    def flow(self, id_: int) -> NodeFlow:
        """What fed a node and what it fed, told by equal values."""
        pair = self._pair_of(id_)
        passed = self._passed(pair, pair.nodes[id_].side)
        fed = [one for one in passed if one.consumer == id_]
        read = [one for one in passed if one.producer == id_]
        return NodeFlow(
            self._links(pair, fed, [one.producer for one in fed]),
            self._links(pair, read, [one.consumer for one in read]),
        )

    def _links(
        self, pair: MsprobePair, passed: Sequence[Passed], ends: Sequence[int]
    ) -> list[FlowLink]:
        """Links to the other ends, in execution order."""
        links = []
        for one, end in zip(passed, ends, strict=True):
            reader = pair.nodes[one.consumer]
            value = self._value_ids(pair, reader).get(one.key, 0)
            path = path_of(one.key, reader.name)
            links.append(FlowLink(pair.nodes[end], path, value, exact=False))
        return sorted(links, key=lambda link: link.node.order)

    def _value_ids(self, pair: MsprobePair, node: Node) -> dict[str, int]:
        """The ids that the values of a node have in its details, by full name."""
        partner = pair.nodes.get(node.match) if node.match is not None else None
        problem, benchmark = (node, partner) if node.side == "problem" else (partner, node)
        with self._engine.connect() as connection:
            ours, theirs = _data(connection, problem), _data(connection, benchmark)
        names = (problem.name if problem else "", benchmark.name if benchmark else "")
        return value_ids(ours, theirs, names)[0 if node.side == "problem" else 1]

    def _passed(self, pair: MsprobePair, side: Side) -> list[Passed]:
        """What passed between the nodes of a side; read and told once."""
        if side not in pair.passed:
            ids = [id_ for id_, node in pair.nodes.items() if node.side == side]
            with self._engine.connect() as connection:
                inputs, outputs = _all_data(connection, ids)
            pair.passed[side] = passed_in(pair, side, inputs, outputs)
        return pair.passed[side]

    def _flows(self, pair: MsprobePair) -> list[FlowIds]:
        return [_flow_ids(self._passed(pair, side)) for side in _SOURCES]

    def diff_index(self, step: int, rank: int) -> DiffIndex:
        """Both sides of a pair as one list of rows, the first error as where it begins."""
        pair = self._load(step, rank)
        nodes = pair.nodes.values()
        problem, benchmark = (
            from_cells(by_column([_side_row(n) for n in nodes if n.side == side], SIDE_CELLS))
            for side in _SOURCES
        )
        causes = [one.node.id for one in self.findings(step, rank).findings[:1]]
        threshold = THRESHOLD if self.comparison else None
        return index_of(problem, benchmark, causes, threshold, lambda: self._flows(pair))

    def dump_folder(self, graph_id: int) -> Path | None:
        """Such a file's dumps are not looked at."""

    def _graph_id(self, step: int, rank: int, side: Side) -> int:
        return 2 * list(self._counts).index((step, rank)) + (1 if side == "problem" else 2)

    def _graph(self, pair: MsprobePair, side: Side, step: int, rank: int) -> Graph:
        return Graph(
            id=self._graph_id(step, rank, side),
            side=side,
            framework=None,
            level=None,
            dump_dir=None,
            micro_steps=int(self._config["micro_steps"] or 1),
            nodes=self._counts[step, rank].get(side, (0,))[0],
            root=pair.nodes[pair.roots[side]],
        )

    def _pair(self, place: tuple[int, int], sides: dict[Side, tuple[Any, ...]]) -> Pair:
        none = (0, None, 0, 0)
        ours, theirs = sides.get("problem", none), sides.get("benchmark", none)
        both = self.comparison and ours[0] and theirs[0]
        return Pair(
            step=place[0],
            rank=place[1],
            status="ok",
            error=None,
            worst=ours[1],
            divergent=ours[2] or 0,
            matched=ours[3] if both else 0,
            unmatched_problem=ours[0] - ours[3] if both else 0,
            unmatched_benchmark=theirs[0] - theirs[3] if both else 0,
        )

    def _pair_of(self, id_: int) -> MsprobePair:
        pair = self._find_pair(id_)
        if pair is None:
            raise UnknownNodeError(f"{self.file.name} has no node {id_}")
        return pair

    def _find_pair(self, id_: int) -> MsprobePair | None:
        if id_ > _LARGEST_ROW:
            return None
        with self._engine.connect() as connection:
            query = text("SELECT step, rank FROM tb_nodes WHERE rowid = :id")
            row = connection.execute(query, {"id": id_}).first()
        if row is None or tuple(row) not in self._counts:
            return None
        pair = self._load(*row)
        return pair if id_ in pair.nodes else None

    def _load(self, step: int, rank: int) -> MsprobePair:
        key = (step, rank)
        if key not in self._counts:
            raise UnknownNodeError(f"{self.file.name} has no step {step} rank {rank}")
        with self._lock:
            if key not in self._pairs:
                self._pairs[key] = self._read(step, rank)
                while len(self._pairs) > _MOST_PAIRS_OPEN:
                    self._pairs.popitem(last=False)
            self._pairs.move_to_end(key)
            return self._pairs[key]

    def _read(self, step: int, rank: int) -> MsprobePair:
        if sum(counts[0] for counts in self._counts[step, rank].values()) > _MOST_NODES:
            raise DatabaseError(
                f"{self.file}: more than {_MOST_NODES} nodes in step {step} rank {rank}",
                "compare the dumps with `msprobe graph_visualize`",
            )
        query = text(
            f"SELECT {COLUMNS} FROM tb_nodes "
            "WHERE step = :step AND rank = :rank AND data_source = :source"
        )
        rows: dict[Side, list[Row]] = {}
        graphs = {side: self._graph_id(step, rank, side) for side in _SOURCES}
        with self._engine.connect() as connection:
            for side, source in _SOURCES.items():
                given = {"step": step, "rank": rank, "source": source}
                rows[side] = [Row(*row) for row in connection.execute(query, given).all()]
            return make_pair(dict(rows), graphs)


def _cell(place: tuple[int, int], row: Any) -> AcrossCell:  # noqa: ANN401 - a row of any query
    if row is None:
        return AcrossCell(*place, None, None, None, None, None)
    id_, precision, level = row
    score = score_of(precision)
    return AcrossCell(*place, id_, score, None, verdict_of(score), overflow_of(level))


def _flow_ids(passed: Sequence[Passed]) -> FlowIds:
    """All as inferred edges by node ids."""
    if not passed:
        return NO_FLOW
    producer = np.array([one.producer for one in passed], dtype=np.int64)
    consumer = np.array([one.consumer for one in passed], dtype=np.int64)
    return producer, consumer, np.zeros(len(passed), dtype=bool)


def _all_data(
    connection: Connection, ids: Sequence[int]
) -> tuple[dict[int, Cells], dict[int, Cells]]:
    """The inputs and outputs of nodes by their ids; ids of one side are close together."""
    wanted = set(ids)
    query = text(
        "SELECT rowid, input_data, output_data FROM tb_nodes WHERE rowid BETWEEN :a AND :b"
    )
    given = {"a": min(ids, default=0), "b": max(ids, default=-1)}
    rows = [row for row in connection.execute(query, given) if row[0] in wanted]
    return {row[0]: cells_of(row[1]) for row in rows}, {row[0]: cells_of(row[2]) for row in rows}


def _data(connection: Connection, node: Node | None) -> dict[str, Any]:
    if node is None:
        return {}
    query = text("SELECT input_data, output_data FROM tb_nodes WHERE rowid = :id")
    inputs, outputs = connection.execute(query, {"id": node.id}).one()
    return cells_of(inputs) | cells_of(outputs)


def _stack(connection: Connection, node: Node | None) -> list[str] | None:
    if node is None:
        return None
    query = text(
        "SELECT stack_info FROM tb_stack JOIN tb_nodes ON tb_stack.id = tb_nodes.stack_id "
        "WHERE tb_nodes.rowid = :id"
    )
    frames = listed(connection.execute(query, {"id": node.id}).scalar())
    return [" ".join(str(frame).split()) for frame in frames] or None


def _finding(place: int, row: Any, node: Node) -> Finding:  # noqa: ANN401 - a row of any query
    return Finding(
        id=place,
        step=row[1],
        rank=row[2],
        kind="msprobe_error",
        node=node,
        score=node.score,
        input_score=None,
        introduced=None,
        reasons=[{"code": "msprobe_error"}],
        propagated_to=0,
    )


def _index_row(n: Node) -> tuple[Any, ...]:
    match = -1 if n.match is None else n.match
    return n.id, n.order, _state(n), n.score, None, -1, None, match, n.name


def _side_row(n: Node) -> tuple[Any, ...]:
    parent = -1 if n.parent is None else n.parent
    match = -1 if n.match is None else n.match
    return n.id, parent, match, n.micro_step, _state(n), n.score, None, -1, n.name


def _state(n: Node) -> int:
    words = {"kind": n.kind, "direction": n.direction, "verdict": n.verdict, "overflow": n.overflow}
    return packed(words, matched=n.match is not None)
