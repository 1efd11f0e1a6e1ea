"""Search by name over both graphs of a pair."""

from __future__ import annotations

from typing import Annotated

import msgspec

from builder.results.records import Side
from tb_graph_ascend.server.graphs import Limit, Offset
from tb_graph_ascend.server.messages import SearchHits
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace


class SearchQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to look for: `q` is a text, or with `regex` an expression; `case` makes it exact."""

    q: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    regex: bool = False
    case: bool = False
    side: Side | None = None
    offset: Offset = 0
    limit: Limit = 200


def resource(place: Workplace) -> Resource:
    """The route of `/api/databases/<db>/pairs/<step>/<rank>/search`."""
    routes = Resource("search")

    @routes.route(
        "/databases/<db>/pairs/<int(signed=True):step>/<int(signed=True):rank>/search",
        query=SearchQuery,
        answer=SearchHits,
    )
    def search(db: str, step: int, rank: int, query: SearchQuery) -> SearchHits:
        """A page of the nodes whose names match; an empty text has no hits."""
        opened = place.open(db)
        index = place.library.index(opened, step, rank)
        if not query.q:
            # What the interface asks for before the first letter is typed.
            index.prepare()
            return SearchHits(0, query.offset, [])
        ids = index.search(query.q, expression=query.regex, case=query.case, side=query.side)
        page = ids[query.offset : query.offset + query.limit].tolist()
        return SearchHits(len(ids), query.offset, opened.database.nodes_by_id(page))

    return routes
