"""Reads the result files of msprobe's own builder through the interface of our queries.

They stay as they are: scores are the file's own precision index (0, 0.5, 1), and nothing is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import text

from builder.reasons import MsprobeError, WrittenByMsprobe
from builder.results.equal_numbers import Carried
from builder.results.flow_cells import NO_FLOW, NO_PASSAGES, FlowIds, PassageIds
from builder.results.manual.patches import Patches
from builder.results.msprobe.file import MOST_PAIRS_OPEN, SOURCES, MsprobeFile
from builder.results.msprobe.flow import passed_in
from builder.results.msprobe.graph import (
    THRESHOLD,
    MsprobePair,
    Passed,
    overflow_of,
    score_of,
    verdict_of,
)
from builder.results.msprobe.index_rows import row_of
from builder.results.msprobe.node_cells import inputs_and_outputs, stack_of, values_of
from builder.results.msprobe.node_values import messages, pair_values, path_of, value_ids
from builder.results.msprobe.way_back import way_back
from builder.results.received import Received
from builder.results.records import (
    Across,
    AcrossCell,
    Children,
    CommunicationLink,
    Finding,
    Findings,
    FirstOutput,
    FlowLink,
    Graph,
    HandedOn,
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
    UnmadeInput,
)
from builder.results.side_cells import by_column
from builder.results.side_nodes import SideNodes, from_cells
from builder.results.trace import Trace

_TASKS: dict[str, Task] = {"summary": "statistics", "all": "tensor", "md5": "md5"}
_MOST_FINDINGS = 100
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
_FIND = """
    SELECT rowid FROM tb_nodes WHERE node_name = :name
    AND (:step IS NULL OR step = :step) AND (:rank IS NULL OR rank = :rank)
    ORDER BY data_source <> 'NPU', step, rank, rowid LIMIT 1
"""
_NAMES_LIKE = """
    SELECT node_name FROM tb_nodes WHERE instr(lower(node_name), lower(:part))
    GROUP BY node_name ORDER BY min(rowid) LIMIT :most
"""


class MsprobeDatabase:
    """A file of msprobe's own builder, open for reading by any number of threads."""

    threshold = THRESHOLD
    patches = Patches()

    def __init__(self, file: Path) -> None:
        self.file = file
        self._stored = MsprobeFile(file)

    def close(self) -> None:
        """Let go of the file."""
        self._stored.close()

    @cached_property
    def comparison(self) -> bool:
        """Whether the file holds two sides."""
        return str(self._stored.config["graph_type"]) == "compare"

    def summary(self) -> Summary:
        """The database as a whole."""
        return Summary(
            task=_TASKS.get(str(self._stored.config["task"]), "structure"),
            comparison=self.comparison,
            tool_version="msprobe",
            created="",
            problem="NPU",
            benchmark="Bench" if self.comparison else None,
            overflow_checked=bool(self._stored.config["overflow_check"]),
            summary=[WrittenByMsprobe()],
            pairs=[self._pair(place, sides) for place, sides in self._stored.counts.items()],
            evidence=None,
            kind=None,
        )

    def pair(self, step: int, rank: int) -> PairGraphs:
        """Both graphs of a step and rank with their roots."""
        pair = self._stored.load(step, rank)
        sides = {side: self._graph(pair, side, step, rank) for side in pair.roots}
        problem, benchmark = sides.get("problem"), sides.get("benchmark")
        return PairGraphs(step, rank, "ok", None, problem, benchmark)

    def node(self, id_: int) -> Node:
        """One node; raises UnknownNodeError."""
        return self._stored.pair_of(id_).nodes[id_]

    def nodes_by_id(self, ids: Iterable[int]) -> list[Node]:
        """The nodes with these ids in the order given; unknown ones are left out."""
        nodes: list[Node] = []
        pair = MsprobePair()
        for id_ in ids:
            if id_ not in pair.nodes:
                pair = self._stored.find(id_) or pair
            if id_ in pair.nodes:
                nodes.append(pair.nodes[id_])
        return nodes

    def names_by_id(self, ids: Iterable[int]) -> dict[int, str]:
        """The names of nodes alone, by their ids; unknown ones are left out."""
        return {node.id: node.name for node in self.nodes_by_id(ids)}

    def carried(self, step: int, rank: int) -> tuple[int | None, list[Carried]]:
        """Nothing: these files hold no values to tell who wrote what is read."""
        return None, []

    def received(self, step: int, rank: int) -> list[Received]:
        """Nothing: such files do not say which call of another rank a call belongs to."""
        return []

    def children(self, id_: int, offset: int, limit: int) -> Children:
        """A page of a node's children."""
        pair = self._stored.pair_of(id_)
        listed_ids = pair.children[id_]
        page = [pair.nodes[child] for child in listed_ids[offset : offset + limit]]
        return Children(id_, len(listed_ids), offset, page)

    def path(self, id_: int) -> NodePath:
        """From the root down to a node."""
        nodes = self._stored.pair_of(id_).nodes
        path = [nodes[id_]]
        while path[-1].parent is not None:
            path.append(nodes[path[-1].parent])
        return NodePath(path[::-1])

    def stacks_by_id(self, ids: Iterable[int]) -> dict[int, int]:
        """Such a file keeps a stack of its own for each call."""
        return {}

    def place_of(self, id_: int) -> tuple[int, int]:
        """The step and rank of a node."""
        pair = self._stored.pair_of(id_)
        return pair.step, pair.rank

    def own_way(self, id_: int) -> Trace:
        """The way from a node back to where it began to differ, told by equal values.

        Its finding is the number among those of the step and rank.
        """
        pair = self._stored.pair_of(id_)
        place = pair.step, pair.rank
        findings = {one.node.id: one.id for one in self.findings(*place).findings}
        passed = partial(self._passed, pair)
        return way_back(pair, pair.nodes[id_], place, passed, findings)

    def find(self, name: str, step: int | None, rank: int | None) -> int | None:
        """The first node of a name, in the problem run if it is there; None without one."""
        given = {"name": name, "step": step, "rank": rank}
        with self._stored.engine.connect() as connection:
            return connection.execute(text(_FIND), given).scalar()

    def names_like(self, part: str, most: int) -> list[str]:
        """Names that contain a text, in any case."""
        with self._stored.engine.connect() as connection:
            rows = connection.execute(text(_NAMES_LIKE), {"part": part, "most": most})
            return [str(row[0]) for row in rows]

    def details(self, id_: int) -> NodeDetails:
        """A node with its partner, values and stacks."""
        pair = self._stored.pair_of(id_)
        own = pair.nodes[id_]
        problem, benchmark = _both(pair, own)
        with self._stored.engine.connect() as connection:
            ours, theirs = values_of(connection, problem), values_of(connection, benchmark)
            stacks = Stacks(stack_of(connection, problem), stack_of(connection, benchmark))
        said = messages(ours) if own.side == "problem" else []
        return NodeDetails(
            node=msgspec.structs.replace(own, reasons=[*own.reasons, *said]),
            partner=benchmark if own.side == "problem" else problem,
            values=pair_values(ours, theirs, _names(problem, benchmark)),
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
        given = {"source": SOURCES[own.side], "name": own.name}
        with self._stored.engine.connect() as connection:
            rows = {
                place: connection.execute(
                    query, given | {"step": place[0], "rank": place[1]}
                ).first()
                for place in self._stored.counts
            }
        return Across(own.name, own.side, [_cell(place, row) for place, row in rows.items()])

    def findings(self, step: int | None = None, rank: int | None = None) -> Findings:
        """The nodes that the file's own verdict calls an error and no child of theirs explains.

        Of at most four pairs and a hundred nodes: the file has no diagnosis of its own.
        """
        given = {"step": step, "rank": rank, "most": _MOST_FINDINGS}
        with self._stored.engine.connect() as connection:
            rows = list(connection.execute(text(_FINDINGS), given))
        first = list(dict.fromkeys((row[1], row[2]) for row in rows))[:MOST_PAIRS_OPEN]
        kept = [row for row in rows if (row[1], row[2]) in first]
        findings = [_finding(place, row, self.node(row[0])) for place, row in enumerate(kept, 1)]
        return Findings(findings, THRESHOLD)

    def side_nodes(self, step: int, rank: int) -> list[SideNodes]:
        """The nodes of both sides as lists, searches and rows need them."""
        nodes = self._stored.load(step, rank).nodes.values()
        return [from_cells(by_column([row_of(n) for n in nodes if n.side == s])) for s in SOURCES]

    def first_outputs(self, ids: Sequence[int]) -> dict[int, FirstOutput]:
        """Such a file keeps values as text, a node at a time."""
        return {}

    def seen(self, values: Sequence[int]) -> dict[int, FirstOutput]:
        """Asked for passages alone, which such a file has not."""
        return {}

    def without_values(self, ids: Sequence[int]) -> frozenset[int]:
        """Such a file does not tell them from others."""
        return frozenset()

    def unmade_inputs(self, ids: Sequence[int]) -> dict[int, list[UnmadeInput]]:
        """What nothing of equal values puts out."""
        return {id_: unmade for id_ in ids if (unmade := self._unmade(id_))}

    def _unmade(self, id_: int) -> list[UnmadeInput]:
        made = {link.value for link in self.flow(id_).producers}
        inputs = (one for one in self.details(id_).values if one.role == "input")
        read = sorted(inputs, key=lambda one: one.path)
        tensors = ((one.path, one.problem or one.benchmark) for one in read)
        return [
            UnmadeInput(one.id, path, FirstOutput(one.shape, one.dtype, one.norm))
            for path, one in tensors
            if one and one.shape is not None and not one.requires_grad and one.id not in made
        ]

    def handed_on(self, ids: Sequence[int]) -> dict[int, HandedOn]:
        """Such a file has no scores of values."""
        return {}

    def flow(self, id_: int) -> NodeFlow:
        """What fed a node and what it fed, told by equal values."""
        pair = self._stored.pair_of(id_)
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
        readers = {one.consumer: pair.nodes[one.consumer] for one in passed}
        ids = {id_: self._value_ids(pair, reader) for id_, reader in readers.items()}
        for one, end in zip(passed, ends, strict=True):
            value = ids[one.consumer].get(one.key, 0)
            path = path_of(one.key, readers[one.consumer].name)
            links.append(FlowLink(pair.nodes[end], path, value, exact=False))
        return sorted(links, key=lambda link: link.node.order)

    def _value_ids(self, pair: MsprobePair, node: Node) -> dict[str, int]:
        """The ids that the values of a node have in its details, by full name."""
        problem, benchmark = _both(pair, node)
        with self._stored.engine.connect() as connection:
            ours, theirs = values_of(connection, problem), values_of(connection, benchmark)
        ids = value_ids(ours, theirs, _names(problem, benchmark))
        return ids[0 if node.side == "problem" else 1]

    def _passed(self, pair: MsprobePair, side: Side) -> list[Passed]:
        """What passed between the nodes of a side; read and told once."""
        if side not in pair.passed:
            ids = [id_ for id_, node in pair.nodes.items() if node.side == side]
            with self._stored.engine.connect() as connection:
                inputs, outputs = inputs_and_outputs(connection, ids)
            pair.passed[side] = passed_in(pair, side, inputs, outputs)
        return pair.passed[side]

    def flows(self, step: int, rank: int) -> list[FlowIds]:
        """What passed between nodes on each side of a pair, told by equal values."""
        pair = self._stored.load(step, rank)
        return [_flow_ids(self._passed(pair, side)) for side in SOURCES]

    def passages(self, step: int, rank: int) -> list[PassageIds]:
        """Such a file does not say which calls left no values."""
        return [NO_PASSAGES for _ in SOURCES]

    def beginnings(self, step: int, rank: int) -> dict[int, float | None]:
        """The first node of a pair that the file's own verdict calls an error."""
        return {one.node.id: one.score for one in self.findings(step, rank).findings[:1]}

    def dump_folder(self, graph_id: int) -> Path | None:
        """Such a file's dumps are not looked at."""

    def _graph(self, pair: MsprobePair, side: Side, step: int, rank: int) -> Graph:
        return Graph(
            id=self._stored.graph_id(step, rank, side),
            side=side,
            framework=None,
            level=None,
            dump_dir=None,
            micro_steps=int(self._stored.config["micro_steps"] or 1),
            nodes=self._stored.counts[step, rank].get(side, (0,))[0],
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


def _cell(place: tuple[int, int], row: Any) -> AcrossCell:  # noqa: ANN401 - a row of any query
    if row is None:
        return AcrossCell(*place, None, None, None, None, None)
    id_, precision, level = row
    score = score_of(precision)
    return AcrossCell(*place, id_, score, None, verdict_of(score), overflow_of(level))


def _both(pair: MsprobePair, node: Node) -> tuple[Node | None, Node | None]:
    """A node and its partner, the problem's first."""
    partner = pair.nodes.get(node.match) if node.match is not None else None
    return (node, partner) if node.side == "problem" else (partner, node)


def _names(problem: Node | None, benchmark: Node | None) -> tuple[str, str]:
    return problem.name if problem else "", benchmark.name if benchmark else ""


def _flow_ids(passed: Sequence[Passed]) -> FlowIds:
    """All as inferred edges by node ids."""
    if not passed:
        return NO_FLOW
    producer = np.array([one.producer for one in passed], dtype=np.int64)
    consumer = np.array([one.consumer for one in passed], dtype=np.int64)
    return producer, consumer, np.zeros(len(passed), dtype=bool)


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
        reasons=[MsprobeError()],
        propagated_to=0,
    )
