"""Nodes: those that fit a query; of one its children, the way to it, its values."""

from __future__ import annotations

import msgspec

from builder.results.records import Across, Children, NodeDetails, NodeFlow, NodePath
from builder.results.shards import NodeShards, node_shards
from builder.results.token_lines import NodeTokens, node_tokens
from tb_graph_ascend.server.graphs import Limit, Offset
from tb_graph_ascend.server.messages import NodeTable
from tb_graph_ascend.server.node_table import (
    PAGE_SECONDS,
    TablePage,
    find_hits,
    table,
    unknown_words,
)
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace


class PageQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which page is wanted."""

    offset: Offset = 0
    limit: Limit = 500


def resource(place: Workplace) -> Resource:
    """Routes of `/api/databases/<db>/nodes`."""
    routes = Resource("nodes")

    @routes.route("/databases/<db>/nodes", query=TablePage, answer=NodeTable)
    def listed(db: str, query: TablePage) -> NodeTable:
        """A page of the nodes that fit a query, in one pair, one rank or everywhere."""
        opened = place.open(db)
        hits = find_hits(place.library, opened, query, PAGE_SECONDS)
        page = table(opened, hits, query.offset, query.limit)
        if page.total:
            return page
        return msgspec.structs.replace(page, unknown=unknown_words(place.library, opened, query))

    @routes.route("/databases/<db>/nodes/<int:node>", answer=NodeDetails)
    def details(db: str, node: int) -> NodeDetails:
        """All that is known of a node: partner, values of both sides, stacks, communication."""
        return place.open(db).database.details(node)

    @routes.route("/databases/<db>/nodes/<int:node>/children", query=PageQuery, answer=Children)
    def children(db: str, node: int, query: PageQuery) -> Children:
        """A page of the children of a node, in their order."""
        return place.open(db).database.children(node, query.offset, query.limit)

    @routes.route("/databases/<db>/nodes/<int:node>/path", answer=NodePath)
    def path(db: str, node: int) -> NodePath:
        """From the root down to a node."""
        return place.open(db).database.path(node)

    @routes.route("/databases/<db>/nodes/<int:node>/flow", answer=NodeFlow)
    def flow(db: str, node: int) -> NodeFlow:
        """What fed a node, and what it fed."""
        return place.open(db).database.flow(node)

    @routes.route("/databases/<db>/nodes/<int:node>/across", answer=Across)
    def across(db: str, node: int) -> Across:
        """The same node in every step and rank."""
        return place.open(db).database.across(node)

    @routes.route("/databases/<db>/nodes/<int:node>/shards", answer=NodeShards)
    def shards(db: str, node: int) -> NodeShards:
        """What each rank holds of the values that were joined for a node and its partner."""
        return node_shards(place.open(db).database, node)

    @routes.route("/databases/<db>/nodes/<int:node>/tokens", answer=NodeTokens)
    def tokens(db: str, node: int) -> NodeTokens:
        """How far apart each token is in the values of a node."""
        return node_tokens(place.open(db).database, node)

    return routes
