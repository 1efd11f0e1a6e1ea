"""Everything that is asked of a result database.

All of its SQL stands here, but what reads a pair whole (`whole_pairs`) or along the flow
(`flow_links`).
A reader sees the file through patches, which lie over it without being in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Engine, Row, select

from builder.compare.score import THRESHOLD
from builder.errors import UnknownNodeError
from builder.results.across import find_everywhere
from builder.results.engine import driver_of
from builder.results.equal_numbers import Carried, carried_weights
from builder.results.flow_cells import NO_FLOW, NO_PASSAGES, FlowIds, PassageIds
from builder.results.flow_links import (
    PlacedLinks,
    flow_of,
    links_into,
    passed_between,
    passed_everywhere,
)
from builder.results.handed_on import handed_on
from builder.results.manual.patches import NodeSource, Patches
from builder.results.node_details import (
    details_of,
    links_of,
    pairs_of,
    stack_texts,
    values_of,
)
from builder.results.received import Received, received
from builder.results.records import (
    Across,
    Children,
    CommunicationLink,
    Findings,
    FirstOutput,
    HandedOn,
    Node,
    NodeDetails,
    NodeFlow,
    NodePath,
    PairGraphs,
    Passed,
    Side,
    Summary,
    UnmadeInput,
    ValuePair,
)
from builder.results.schema import finding, graph, node
from builder.results.shown_values import (
    first_outputs,
    parameter_shapes,
    seen_values,
    unmade_inputs,
    without_values,
)
from builder.results.side_nodes import SideNodes
from builder.results.stored_cells import cells_by_id
from builder.results.stored_file import LARGEST, MOST_PARAMETERS, StoredFile
from builder.results.stored_rows import (
    cell_of,
    finding_of,
    graph_of,
    node_of,
    state_of,
)
from builder.results.trace import Trace, start_of
from builder.results.whole_pairs import read_flows, read_passages, read_sides
from builder.storage.path_text import text_path

SIDES: tuple[Side, Side] = ("problem", "benchmark")
# In the order of the record's fields.
_FIELDS = Node.__struct_fields__
_NODE_COLUMNS = tuple("exec_order" if f == "order" else f for f in _FIELDS if f != "side")


class ResultDatabase:
    """A database of this tool, open for reading by any number of threads.

    `stored` is the file without patches: its connections, facts, graphs and volumes.
    """

    def __init__(self, path: Path, patches: Patches | None = None) -> None:
        self.file = path
        self.patches = patches or Patches()
        self.stored = StoredFile(path)

    def with_patches(self, patches: Patches) -> ResultDatabase:
        """The same open file, seen through other patches; what was read of it is shared."""
        seen = object.__new__(type(self))
        seen.file, seen.patches, seen.stored = self.file, patches, self.stored
        return seen

    def close(self) -> None:
        """Let go of the file."""
        self.stored.close()

    @property
    def comparison(self) -> bool:
        """Whether the file holds two sides."""
        return "benchmark" in self.stored.meta

    @property
    def threshold(self) -> float:
        """The score above which a value diverges."""
        return float(self.stored.options.get("threshold", THRESHOLD))

    @cached_property
    def _nodes(self) -> NodeSource:
        return NodeSource(self.patches)

    def summary(self) -> Summary:
        """The database as a whole, with one record for each step and rank."""
        return self.stored.summary(self.patches.graphs)

    def pair(self, step: int, rank: int) -> PairGraphs:
        """Both graphs of a step and rank with their roots."""
        rows = self._pair_rows(step, rank)
        status, error = state_of(rows)
        roots = {n.id: n for n in self.nodes_by_id(r.root for r in rows if r.root is not None)}
        sides = {r.side: graph_of(r, roots[r.root]) for r in rows if r.root in roots}
        both = sides.get("problem"), sides.get("benchmark")
        if status != "missing":
            return PairGraphs(step, rank, status, error, *both)
        # Its one row is of the side that lacks it, with the folder of the other.
        only: Side = "benchmark" if rows[0].side == "problem" else "problem"
        return PairGraphs(step, rank, status, error, *both, only, rows[0].dump_dir)

    def node(self, id_: int) -> Node:
        """One node; raises UnknownNodeError."""
        nodes = self.nodes_by_id([id_])
        if not nodes:
            raise UnknownNodeError(f"{self.file.name} has no node {id_}")
        return nodes[0]

    def nodes_by_id(self, ids: Iterable[int]) -> list[Node]:
        """The nodes with these ids in the order given; unknown ones are left out."""
        wanted = [id_ for id_ in ids if id_ <= LARGEST]
        by_id = self._found(self.stored.engine, wanted)  # an index has those that it names
        for engine, part in self.stored.by_volume([i for i in wanted if i not in by_id]):
            by_id |= self._found(engine, part)
        return [by_id[id_] for id_ in wanted if id_ in by_id]

    def _found(self, engine: Engine, wanted: Sequence[int]) -> dict[int, Node]:
        by_id: dict[int, Node] = {}
        for start in range(0, len(wanted), MOST_PARAMETERS):
            part = wanted[start : start + MOST_PARAMETERS]
            seen = self.with_patches(self.patches.of(part))
            by_id |= {n.id: n for n in seen._select(engine, node.c.id.in_(part))}
        return by_id

    def stacks_by_id(self, ids: Iterable[int]) -> dict[int, int]:
        """Numbers of the stacks of calls, by their ids: calls of one stack have one number."""
        return cells_by_id(self.stored, node.c.stack, ids)

    def names_by_id(self, ids: Iterable[int]) -> dict[int, str]:
        """The names of nodes alone, by their ids; unknown ones are left out."""
        return cells_by_id(self.stored, node.c.name, ids)

    def children(self, id_: int, offset: int, limit: int) -> Children:
        """A page of a node's children."""
        parent = self.node(id_)
        page = node.c.parent == id_, node.c.position >= offset, node.c.position < offset + limit
        nodes = self._select(self.stored.engine_at(id_), *page, order=[node.c.position])
        return Children(id_, parent.children, offset, nodes)

    def path(self, id_: int) -> NodePath:
        """From the root down to a node."""
        step = select(node.c.id, node.c.parent).where(node.c.id == id_).cte("above", recursive=True)
        # A parent always has a smaller id; anything else is a cycle in a file made by hand.
        above = node.c.id == step.c.parent, node.c.id < step.c.id
        step = step.union_all(select(node.c.id, node.c.parent).where(*above))
        ids = node.c.id.in_(select(step.c.id))
        known = id_ <= LARGEST
        nodes = self._select(self.stored.engine_at(id_), ids, order=[node.c.id]) if known else []
        if not nodes:
            raise UnknownNodeError(f"{self.file.name} has no node {id_}")
        return NodePath(nodes)

    def details(self, id_: int) -> NodeDetails:
        """A node with its partner, values, stacks and communication partners."""
        found = self.details_of([id_])
        if not found:
            raise UnknownNodeError(f"{self.file.name} has no node {id_}")
        return found[0]

    def details_of(self, ids: Sequence[int]) -> list[NodeDetails]:
        """The same of many nodes at once; unknown ones are left out."""
        return details_of(self, self.stored, ids)

    def values_of(self, ids: Sequence[int]) -> list[list[ValuePair]]:
        """The values alone of nodes and their partners, as details have them."""
        pairs = pairs_of(self, self.nodes_by_id(ids))
        return values_of(self.stored, pairs, self.patches.values)

    def links_of(self, ids: Sequence[int]) -> dict[int, list[CommunicationLink]]:
        """The communication partners of nodes; those without any are left out."""
        return links_of(self, ids)

    def stack_texts(self, numbers: Mapping[int, int]) -> dict[int, list[str]]:
        """The frames of the stacks of nodes, by the numbers of the stacks."""
        return stack_texts(self.stored, numbers)

    def first_outputs(self, ids: Sequence[int]) -> dict[int, FirstOutput]:
        """What nodes put out first; asked for a window of rows, not for a pair."""
        return first_outputs(self.stored, ids)

    def seen(self, values: Sequence[int]) -> dict[int, FirstOutput]:
        """What values are, by their ids; asked for what one picture shows."""
        return seen_values(self.stored, values)

    def without_values(self, ids: Sequence[int]) -> frozenset[int]:
        """Which of these nodes are calls of which nothing but the name was recorded."""
        return without_values(self.stored, ids)

    def parameter_shapes(self, ids: Sequence[int]) -> dict[int, tuple[tuple[int, ...], ...]]:
        """The shapes of the parameters that modules have themselves, sorted; none left out."""
        return parameter_shapes(self.stored, ids)

    def unmade_inputs(self, ids: Sequence[int]) -> dict[int, list[UnmadeInput]]:
        """The tensors that nodes read and no call is known to put out."""
        return unmade_inputs(self.stored, ids)

    def handed_on(self, ids: Sequence[int]) -> dict[int, HandedOn]:
        """What those of these nodes hand on that have no partner, by their ids."""
        return handed_on(self.stored, ids) if self.comparison else {}

    def passed(self, consumers: Sequence[int], producers: Sequence[int]) -> Passed | None:
        """The worst value that passed from some nodes to some of the same pair."""
        return passed_between(consumers, producers, self.stored.engine_at(max(consumers)))

    def passed_everywhere(self, id_: int) -> dict[tuple[int, int], tuple[int, Passed]]:
        """What passed from each node to each in the part of the file that holds a node."""
        return passed_everywhere(self.stored.engine_at(id_)) if self.stored.has_flow else {}

    def flow(self, id_: int) -> NodeFlow:
        """What fed a node and what it fed; nothing in files of earlier releases."""
        self.node(id_)
        if not self.stored.has_flow:
            return NodeFlow([], [])
        return flow_of(id_, self.stored.engine_at(id_), self.nodes_by_id)

    def links(self, step: int, rank: int) -> PlacedLinks:
        """All that `flow` says of the nodes of a step and rank, by link."""
        found = PlacedLinks()
        for side in self.side_nodes(step, rank) if self.stored.has_flow else ():
            if len(side):
                first, last = int(side.id.min()), int(side.id.max())
                links_into(self.stored.engine_at(last), first, last, found)
        return found

    def across(self, id_: int) -> Across:
        """A node in all steps and ranks that have both its name and what stands above it."""
        path = self.path(id_).path
        places = find_everywhere(self.stored.everywhere(), path)
        nodes = {n.id: n for n in self.nodes_by_id(places.values())}
        here = path[-1]
        handed = self.handed_on([n.id for n in nodes.values() if n.match is None])
        at = {place: nodes.get(places.get(place, -1)) for place in self.stored.pairs}
        cells = [cell_of(place, occurrence, handed) for place, occurrence in at.items()]
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
        with self.stored.engine.connect() as connection:
            rows = list(connection.execute(query.order_by(finding.c.id)))
        nodes = {n.id: n for n in self.nodes_by_id({row.node for row in rows})}
        findings = [finding_of(row, nodes[row.node]) for row in rows if row.node in nodes]
        return Findings(findings, self.threshold)

    def own_way(self, id_: int) -> Trace | None:
        """Nothing for a comparison: the rows of its pair tell ways. One graph alone has none."""
        if self.comparison:
            return None
        return Trace(*self.place_of(id_), None, False, [start_of(self.node(id_))])

    def place_of(self, id_: int) -> tuple[int, int]:
        """The step and rank of a node."""
        of = self.node(id_).graph
        return next((graph.step, graph.rank) for graph in self.stored.graphs if graph.id == of)

    def dump_folder(self, graph_id: int) -> Path | None:
        """The folder that a graph was read from; None when it is not known."""
        folders = {row.id: row.dump_dir for row in self.stored.graphs}
        folder = folders.get(graph_id)
        return text_path(folder) if folder else None

    def beginnings(self, step: int, rank: int) -> dict[int, float | None]:
        """The nodes of a pair that the diagnosis names, with their scores, best suspect first.

        None where the cause is told, and scored, at another step and rank.
        """
        nodes: dict[int, float | None] = {}
        for one in self.findings().findings:
            if (one.step, one.rank) == (step, rank):
                nodes[one.node.id] = one.score
            repeats = (p.node for p in one.places if (p.step, p.rank) == (step, rank))
            nodes |= dict.fromkeys(repeats)
        return nodes

    def side_nodes(self, step: int, rank: int) -> list[SideNodes]:
        """The nodes of both sides without patches; lists, searches and rows read them once."""
        graphs = {row.side: row.id for row in self._pair_rows(step, rank)}
        ids = [graphs.get(side) for side in SIDES]
        at = max(id_ for id_ in ids if id_ is not None)
        return self.stored.nodes_of.get(
            (step, rank), lambda: read_sides(self.stored.engine_at(at), ids)
        )

    def flows(self, step: int, rank: int) -> list[FlowIds]:
        """What fed what on each side of a pair; nothing in files of earlier releases."""
        sides = self.side_nodes(step, rank)
        if not self.stored.has_flow:
            return [NO_FLOW for _ in sides]
        return read_flows(self._engine_of(sides), sides)

    def received(self, step: int, rank: int) -> list[Received]:
        """By which calls a difference came into a step and rank from another rank."""
        return received(self, self.stored.engine, self.side_nodes(step, rank)[0])

    def carried(self, step: int, rank: int) -> tuple[int | None, list[Carried]]:
        """The step before, and which nodes read weights of it that differ."""
        at = max(row.root or 0 for row in self._pair_rows(step, rank))
        with self.stored.engine_at(at).connect() as connection:
            return carried_weights(driver_of(connection), step, rank, self.threshold)

    def passages(self, step: int, rank: int) -> list[PassageIds]:
        """What flowed through calls without values; nothing in files of earlier releases."""
        sides = self.side_nodes(step, rank)
        if not self.stored.has_passages:
            return [NO_PASSAGES for _ in sides]
        return read_passages(self._engine_of(sides), sides)

    def _engine_of(self, sides: Sequence[SideNodes]) -> Engine:
        """The connections to the file that holds the nodes of a pair."""
        return self.stored.engine_at(next((int(side.id.max()) for side in sides if len(side)), 0))

    def _pair_rows(self, step: int, rank: int) -> list[Row[Any]]:
        rows = self.stored.pairs.get((step, rank))
        if rows is None:
            raise UnknownNodeError(f"{self.file.name} has no step {step} rank {rank}")
        return rows

    def _select(
        self,
        engine: Engine,
        *where: ColumnElement[bool],
        order: Sequence[ColumnElement[Any]] = (),
    ) -> list[Node]:
        source = self._nodes
        query = select(*(source[name] for name in _NODE_COLUMNS)).select_from(source.table)
        query = query.where(*where).order_by(*order)
        with engine.connect() as connection:
            rows = connection.execute(query).all()
        return [node_of(row, self.stored.sides) for row in rows]
