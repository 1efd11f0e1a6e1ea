"""The two graphs of a step and rank, and the lists of their nodes."""

from __future__ import annotations

from typing import Annotated

import msgspec

from builder.results.records import Direction, Kind, NodeList, PairGraphs, Side, Verdict
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace
from tb_graph_ascend.view.nonfinite import (
    MOST_LISTED,
    NonfiniteStart,
    NonfiniteStarts,
    first_nonfinite,
)
from tb_graph_ascend.view.search.node_filter import NodeFilter, Show, Sort

Offset = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
Limit = Annotated[int, msgspec.Meta(ge=1, le=2000)]


class ListQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which nodes are wanted, and in which order."""

    show: Show | None = None
    source: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None = None
    side: Side | None = None
    direction: Direction | None = None
    kind: Kind | None = None
    verdict: Verdict | None = None
    min_score: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    name: Annotated[str, msgspec.Meta(max_length=1000)] | None = None
    sort: Sort = "order"
    descending: bool = False


class NodeQuery(ListQuery, frozen=True, forbid_unknown_fields=True):
    """Which nodes are wanted, in which order, and which page of them."""

    offset: Offset = 0
    limit: Limit = 200


def resource(place: Workplace) -> Resource:
    """Routes of `/api/databases/<db>/pairs/<step>/<rank>`."""
    routes = Resource("graphs")

    @routes.route(
        "/databases/<db>/pairs/<int(signed=True):step>/<int(signed=True):rank>", answer=PairGraphs
    )
    def pair(db: str, step: int, rank: int) -> PairGraphs:
        """Both graphs of a step and rank with their roots, or why there are none."""
        return place.open(db).database.pair(step, rank)

    @routes.route(
        "/databases/<db>/pairs/<int(signed=True):step>/<int(signed=True):rank>/nodes",
        query=NodeQuery,
        answer=NodeList,
    )
    def nodes(db: str, step: int, rank: int, query: NodeQuery) -> NodeList:
        """A page of the nodes of a pair that a filter lets through."""
        given = msgspec.structs.asdict(query)
        offset, limit = given.pop("offset"), given.pop("limit")
        wanted = NodeFilter(**given)
        return place.library.nodes(place.open(db), step, rank, wanted, offset, limit)

    @routes.route(
        "/databases/<db>/pairs/<int(signed=True):step>/<int(signed=True):rank>/nonfinite",
        answer=NonfiniteStarts,
    )
    def nonfinite(db: str, step: int, rank: int) -> NonfiniteStarts:
        """Which call of each side puts out the first NaN, or infinity, of a step and rank."""
        opened = place.open(db)

        def start(side: Side) -> NonfiniteStart | None:
            wanted = NodeFilter(show="overflow", side=side)
            nodes = place.library.nodes(opened, step, rank, wanted, 0, MOST_LISTED).nodes
            return first_nonfinite(nodes, opened.database.details)

        return NonfiniteStarts(start("problem"), start("benchmark"))

    return routes
