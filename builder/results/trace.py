"""The way from a divergent node back to its cause, call by call: which output fed which input."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from builder.compare.score import THRESHOLD
from builder.errors import UnknownNodeError
from builder.results.equal_numbers import key_of
from builder.results.records import Node
from builder.results.stored_file import LARGEST
from msprobe_core.format import NameSyntaxError, parse_entry

Link: TypeAlias = Literal[
    "start",
    "partner",
    "input",
    "inside",
    "forward",
    "before",
    "cause",
    "guess",
    "weight",
    "returned",
]
# How a trace gets from one hop to the next: from a node of the benchmark to its partner, by the
# value that was read, into a module, from a gradient to the call it belongs to, to what wrote the
# value in the step before, or, where no value tells, to what the diagnosis names; a guess is what
# was worked out from the values around calls that left none; a weight is that of the module which
# the diagnosis names for it, and a gradient is returned by the backward call of a reader.


class Hop(msgspec.Struct, frozen=True):
    """One node on the way; `link` says how it was reached from the one before.

    By the link `input`, `value` is the key under which the node before read what this one put out
    under the key `output`; `exact` says whether the dump itself tells that, and not equal numbers.
    `matched` is false for a call that one run alone makes: it has no score. `step` is that of a
    node in an earlier step than the trace's; null for all others.
    """

    node: int
    name: str
    side: str
    order: int
    score: float | None
    input_score: float | None
    link: Link
    value: str | None = None
    output: str | None = None
    exact: bool = False
    matched: bool = True
    step: int | None = None


class Trace(msgspec.Struct, frozen=True):
    """The way from a node to its cause, the node first; `finding` is the number of the finding.

    `finding` is null where the way ends without one: nothing differs there (`differs`), or nobody
    knows why.
    """

    step: int
    rank: int
    finding: int | None
    differs: bool
    hops: list[Hop]


def trace(connection: sqlite3.Connection, node: int) -> Trace:
    """The trace of a node by its id. Raises UnknownNodeError."""
    return _Tracer(connection).trace(node)


class _Node(msgspec.Struct, frozen=True):
    id: int
    graph: int
    name: str
    side: str
    kind: str
    direction: str | None
    order: int
    score: float | None
    input_score: float | None
    source: int | None
    partner: int | None
    first_value: int
    value_count: int
    step: int
    rank: int


_NODE = (
    "SELECT node.id, node.graph, node.name, graph.side, node.kind, node.direction, "
    "node.exec_order, node.score, node.input_score, node.source, node.match, node.first_value, "
    "node.value_count, graph.step, graph.rank FROM node JOIN graph ON graph.id = node.graph "
)
_INPUTS = (
    "SELECT record.id, form.role, form.path, record.max, record.min, record.mean, record.norm, "
    "record.sketch FROM record JOIN form ON form.id = record.form "
    "WHERE record.id BETWEEN ? AND ? AND form.role NOT IN ('output', 'parameters_grad') "
    "AND record.score > ? ORDER BY record.score DESC, record.id"
)
# The latest node before that put out equal numbers; equal elements come first, calls before the
# modules around them.
_MAKERS = (
    "SELECT node.id, form.role, form.path FROM record JOIN form ON form.id = record.form "
    "JOIN node ON node.graph = ? AND record.id BETWEEN node.first_value "
    "AND node.first_value + node.value_count - 1 "
    "WHERE record.max IS ? AND record.min IS ? AND record.mean IS ? AND record.norm IS ? "
    "AND form.role IN ('output', 'parameters_grad') AND node.exec_order < ? "
    "ORDER BY record.sketch IS NOT ?, node.kind <> 'api', node.exec_order DESC LIMIT 1"
)


_FLOW = (
    "SELECT flow.producer, form.role, form.path FROM flow LEFT JOIN record "
    "ON record.id = flow.output LEFT JOIN form ON form.id = record.form "
    "WHERE flow.value = ? AND flow.exact"
)

_GRAPH_BEFORE = (
    "SELECT graph.id FROM graph JOIN graph AS here ON here.id = ? WHERE graph.side = here.side "
    "AND graph.rank = here.rank AND graph.step < here.step ORDER BY graph.step DESC LIMIT 1"
)
# What runs after the last gradient of a step is its optimizer.
_END_OF_BACKWARD = "SELECT MAX(exec_order) FROM node WHERE graph = ? AND direction = 'backward'"
_VALUE = (
    "SELECT record.max, record.min, record.mean, record.norm, record.sketch FROM record "
    "JOIN form ON form.id = record.form "
    "WHERE record.id BETWEEN ? AND ? AND form.role = ? AND form.path = ?"
)

# Ways are looked for while a person waits, each turn costs some queries, and of the samples no way
# to a cause takes more than a few.
_MOST_TURNS = 40
# A difference that weights carry from step to step is followed so far back.
_MOST_STEPS = 8


@dataclass(slots=True)
class _Step:
    """A node on the way, and where one may go on from it, as far as that was not tried."""

    node: _Node
    hop: Hop
    ways: Iterator[tuple[_Node, Hop]] | None = None


class _Tracer:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        options = connection.execute("SELECT value FROM meta WHERE key = 'options'").fetchone()
        self._threshold = _threshold(options[0] if options else "{}")
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'flow'")
        self._has_flow = tables.fetchone() is not None

    def trace(self, start: int) -> Trace:
        """The way within a node's step; where it ends without a cause, on in the step before."""
        node = self._node(start)
        ways, finding = self._search(node, _hop(node, "start"))
        hops = ways[0]
        for _ in range(_MOST_STEPS if finding is None else 0):
            led, onward = next(self._onward(ways), (None, None))
            if led is None or onward is None:
                break
            hops = hops[: len(hops) - len(ways[0])] + led
            ways, finding = self._search(*onward)
            hops = hops + ways[0]
            if finding is not None:
                break
        hops = [replace(hop, step=None) if hop.step == node.step else hop for hop in hops]
        return Trace(node.step, node.rank, finding, self._differs(node), hops)

    def _onward(self, ways: Sequence[list[Hop]]) -> Iterator[tuple[list[Hop], tuple[_Node, Hop]]]:
        """Of ways that end without a cause those that go on in the step before, and where."""
        for way in ways:
            for one in self._written_before(self._node(way[-1].node)):
                if self._differs(one[0]):
                    yield way, one

    def _search(self, node: _Node, hop: Hop) -> tuple[list[list[Hop]], int | None]:
        """The best way first; where it ends without a cause, back to the next best, some times.

        Without a cause it is all of them, each as far as it leads.
        """
        way = [_Step(node, hop)]
        seen = {node.id}
        ended: list[list[Hop]] = []
        finding, turns = None, 0
        while way and (finding := self._finding(way[-1].node.id)) is None and turns < _MOST_TURNS:
            here = way[-1]
            here.ways = here.ways or self._ways(here.node, seen)
            following = next(here.ways, None)
            if following is not None:
                way.append(_Step(*following))
                seen.add(following[0].id)
                continue
            ended.append([step.hop for step in way])
            turns += 1
            way.pop()
        return ended if finding is None else [[step.hop for step in way]], finding

    def _ways(self, here: _Node, seen: set[int]) -> Iterator[tuple[_Node, Hop]]:
        """Where a difference may have come from, the best way first."""
        partner = self._partner(here)
        if partner is not None and partner.id not in seen and self._differs(partner):
            yield partner, _hop(partner, "partner")
        for maker, hop in self._makers(here):
            if maker.id not in seen and self._differs(maker):
                yield maker, hop
        for inner in self._inside(here):
            if inner.id not in seen:
                yield inner, _hop(inner, "inside")
        forward = self._forward(here)
        if forward is not None and forward.id not in seen and self._differs(forward):
            yield forward, _hop(forward, "forward")
        if here.source is not None and here.source not in seen:
            source = self._node(here.source)
            yield source, _hop(source, "cause")

    def _written_before(self, here: _Node) -> Iterator[tuple[_Node, Hop]]:
        """What the optimizer wrote in the step before and differs here: weights, above all."""
        graph = self._connection.execute(_GRAPH_BEFORE, (here.graph,)).fetchone()
        partner = self._node(here.partner) if here.partner is not None else None
        if graph is None or partner is None:
            return
        there = self._connection.execute(_GRAPH_BEFORE, (partner.graph,)).fetchone()
        last = here.first_value + here.value_count - 1
        for _, role, path, *numbers, sketch in self._connection.execute(
            _INPUTS, (here.first_value, last, self._threshold)
        ).fetchall():
            found = self._writer(graph[0], numbers, sketch)
            if found is None and there is not None:
                # NaN looks the same everywhere: the benchmark's value tells who wrote it there.
                found = self._partner_of_writer(there[0], partner, role, path)
            if found is not None:
                writer, output = found
                yield writer, _hop(writer, "before", key_of(role, path), output)

    def _writer(
        self, graph: int, numbers: Sequence[object], sketch: object
    ) -> tuple[_Node, str] | None:
        """The last call of a step's optimizer that put out these numbers."""
        if not all(isinstance(number, float) and isfinite(number) for number in numbers):
            return None
        made = self._connection.execute(_MAKERS, (graph, *numbers, LARGEST, sketch)).fetchone()
        end = self._connection.execute(_END_OF_BACKWARD, (graph,)).fetchone()[0]
        if made is None or end is None:
            return None
        writer = self._node(made[0])
        return (writer, key_of(*made[1:])) if writer.order > end else None

    def _partner_of_writer(
        self, graph: int, partner: _Node, role: str, path: str
    ) -> tuple[_Node, str] | None:
        """The partner of the call that wrote the partner's value of a key."""
        last = partner.first_value + partner.value_count - 1
        wanted = (partner.first_value, last, role, path)
        value = self._connection.execute(_VALUE, wanted).fetchone()
        found = self._writer(graph, value[:-1], value[-1]) if value is not None else None
        if found is None or found[0].partner is None:
            return None
        return self._node(found[0].partner), found[1]

    def _partner(self, here: _Node) -> _Node | None:
        """The problem's node that a node of the benchmark was compared with; errors stand there."""
        if here.side != "benchmark" or here.partner is None:
            return None
        return self._node(here.partner)

    def _makers(self, here: _Node) -> Iterator[tuple[_Node, Hop]]:
        last = here.first_value + here.value_count - 1
        for record, role, path, *numbers, sketch in self._connection.execute(
            _INPUTS, (here.first_value, last, self._threshold)
        ).fetchall():
            value = key_of(role, path)
            if (told := self._recorded_maker(record)) is not None:
                maker = self._node(told[0])
                yield maker, _hop(maker, "input", value, told[1], exact=True)
            elif all(isinstance(number, float) and isfinite(number) for number in numbers):
                # NaN and infinity are everywhere once they are somewhere: equal ones tell nothing.
                wanted = (here.graph, *numbers, here.order, sketch)
                made = self._connection.execute(_MAKERS, wanted).fetchone()
                if made is not None:
                    maker = self._node(made[0])
                    yield maker, _hop(maker, "input", value, key_of(*made[1:]))

    def _recorded_maker(self, record: int) -> tuple[int, str | None] | None:
        """The node that the dump names, and the key of what it put out, where that was recorded."""
        if not self._has_flow:
            return None
        row = self._connection.execute(_FLOW, (record,)).fetchone()
        return (int(row[0]), key_of(*row[1:]) if row[1] else None) if row is not None else None

    def _inside(self, here: _Node) -> Iterator[_Node]:
        """The nodes directly inside a module that differ, the first to run first."""
        if here.kind == "api":
            return
        query = f"{_NODE} WHERE node.parent = ? ORDER BY node.exec_order"
        for row in self._connection.execute(query, (here.id,)).fetchall():
            inner = _Node(*row)
            if self._differs(inner):
                yield inner

    def _forward(self, here: _Node) -> _Node | None:
        name = forward_name(here)
        if name is None:
            return None
        query = f"{_NODE} WHERE node.graph = ? AND node.name = ?"
        row = self._connection.execute(query, (here.graph, name)).fetchone()
        return _Node(*row) if row is not None else None

    def _differs(self, node: _Node) -> bool:
        scores = (node.score or 0.0, node.input_score or 0.0)
        return max(scores) > self._threshold or node.source is not None

    def _finding(self, node: int) -> int | None:
        for number, named, places in self._connection.execute(
            "SELECT id, node, places FROM finding ORDER BY id"
        ):
            if node == named or any(place.get("node") == node for place in _listed(places)):
                return int(number)
        return None

    def _node(self, node: int) -> _Node:
        row = self._connection.execute(f"{_NODE} WHERE node.id = ?", (node,)).fetchone()
        if row is None:
            raise UnknownNodeError(f"there is no node {node}", "take an id of this database")
        return _Node(*row)


def _hop(
    node: _Node,
    link: Link,
    value: str | None = None,
    output: str | None = None,
    exact: bool = False,
) -> Hop:
    own = (node.id, node.name, node.side, node.order, node.score, node.input_score)
    return Hop(*own, link, value, output, exact, node.partner is not None, node.step)


def _threshold(options: str) -> float:
    try:
        return float(json.loads(options).get("threshold", THRESHOLD))
    except (ValueError, TypeError, AttributeError):
        return THRESHOLD


def _listed(places: str | None) -> list[dict[str, object]]:
    try:
        listed = json.loads(places) if places else []
    except ValueError:
        return []
    return [place for place in listed if isinstance(place, dict)]


def forward_name(node: _Node | Node) -> str | None:
    """The name of the call that a gradient belongs to; None of what is no backward call."""
    if node.direction != "backward":
        return None
    try:
        return parse_entry(node.name).twin("forward")
    except NameSyntaxError:
        return None
