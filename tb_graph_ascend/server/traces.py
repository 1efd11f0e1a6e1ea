"""The way from a divergent node back to its cause, call by call."""

from __future__ import annotations

import msgspec

from builder.results.followers.step import StepFollowers
from builder.results.followers.told_way import told_way
from builder.results.reading import ReadsNodes
from builder.results.trace import Hop, Trace
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace
from tb_graph_ascend.view.module_path import modules_of


class PlacedHop(Hop, frozen=True):
    """A node on the way, with the module that it stands in; null at the top level."""

    module: str | None = None


class PlacedTrace(msgspec.Struct, frozen=True):
    """The way from a node to its cause, as a trace has it; each node with its module."""

    step: int
    rank: int
    hops: list[PlacedHop]
    finding: int | None
    differs: bool


def placed(database: ReadsNodes, trace: Trace) -> PlacedTrace:
    """A trace with the modules of its nodes: calls of one name are told apart by them."""
    modules = modules_of(database, database.nodes_by_id([hop.node for hop in trace.hops]))
    hops = [
        PlacedHop(**msgspec.structs.asdict(hop), module=modules.get(hop.node)) for hop in trace.hops
    ]
    return PlacedTrace(trace.step, trace.rank, hops, trace.finding, trace.differs)


def resource(place: Workplace) -> Resource:
    """The route of `/api/databases/<db>/nodes/<node>/trace`."""
    routes = Resource("traces")

    @routes.route("/databases/<db>/nodes/<int:node>/trace", answer=PlacedTrace)
    def trace(db: str, node: int) -> PlacedTrace:
        """The way from a node back to its cause: which output fed which input."""
        opened = place.open(db)

        def read(step: int, rank: int) -> StepFollowers:
            return place.library.diff(opened, step, rank).followers

        way = told_way(opened.database, read, node)
        return placed(opened.database, way)

    return routes
