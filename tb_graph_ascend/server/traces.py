"""The way from a divergent node back to its cause, call by call."""

from __future__ import annotations

from builder.results.trace import Trace
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace


def resource(place: Workplace) -> Resource:
    """The route of `/api/databases/<db>/nodes/<node>/trace`."""
    routes = Resource("traces")

    @routes.route("/databases/<db>/nodes/<int:node>/trace", answer=Trace)
    def trace(db: str, node: int) -> Trace:
        """The way from a node back to its cause: which output fed which input."""
        return place.open(db).database.trace(node)

    return routes
