"""The nodes that fit a query, over one step and rank, all steps of a rank, or the whole file."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from builder.results.node_words import Ints
from builder.results.records import Node
from tb_graph_ascend.server.errors import BadArgumentError
from tb_graph_ascend.server.findings import Number
from tb_graph_ascend.server.graphs import Limit, Offset
from tb_graph_ascend.server.library import Library, OpenDatabase
from tb_graph_ascend.server.messages import NodeRow, NodeTable, UnknownWord
from tb_graph_ascend.view.module_path import modules_of
from tb_graph_ascend.view.search.node_filter import NodeFilter, Sort
from tb_graph_ascend.view.search.query import Word, parse_query
from tb_graph_ascend.view.search.scores_alone import scores_alone

Scope = Literal["pair", "rank", "all"]
# A page of the interface waits no longer; a download may.
PAGE_SECONDS = 2.0
FILE_SECONDS = 120.0


class TableQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A query in the words of `tb_graph_ascend.view.search.query`, and where it is asked.

    `scope` "rank" means all steps of `rank`, "all" every step and rank.
    """

    step: Number
    rank: Number
    q: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    scope: Scope = "pair"
    sort: Sort = "order"
    descending: bool = False


class TablePage(TableQuery, frozen=True, forbid_unknown_fields=True):
    """A page of the table."""

    offset: Offset = 0
    limit: Limit = 200


@dataclass(frozen=True, slots=True)
class TableHits:
    """Which node of which pair each row is; `searched` of `pairs` steps and ranks were asked."""

    ids: Ints
    place: Ints
    places: Sequence[tuple[int, int]]
    searched: int
    pairs: int


def find_hits(
    library: Library, opened: OpenDatabase, query: TableQuery, seconds: float
) -> TableHits:
    """Ask the pairs of the scope one after the other until the time is over."""
    terms = parse_query(query.q)
    wanted = NodeFilter(sort=query.sort, descending=query.descending)
    places = _places(opened, query)
    threshold = opened.database.threshold if opened.database.comparison else None
    deadline = time.monotonic() + seconds
    ids, keys, origin = [], [], []
    for number, (step, rank) in enumerate(places):
        index = library.index(opened, step, rank)
        hits, key = index.query(terms, wanted, opened.overlay.patches, threshold)
        ids.append(hits)
        keys.append(key)
        origin.append(np.full(len(hits), number))
        if time.monotonic() > deadline:
            break
    if not places:
        return TableHits(np.empty(0, np.int64), np.empty(0, np.int64), (), 0, 0)
    if len(ids) == 1:
        return TableHits(ids[0], origin[0], places, 1, len(places))
    everything = np.concatenate(ids), np.concatenate(origin)
    if query.sort in ("score", "introduced"):
        # Names and execution order mean nothing from one step and rank to the next; scores do.
        order = np.argsort(np.concatenate(keys), kind="stable")
        everything = everything[0][order], everything[1][order]
    return TableHits(*everything, places, len(ids), len(places))


def unknown_words(library: Library, opened: OpenDatabase, query: TableQuery) -> list[UnknownWord]:
    """The words that no name and no module of a step and rank has, with the nearest that do."""
    index = library.index(opened, query.step, query.rank)
    words = dict.fromkeys(term.text for term in parse_query(query.q) if isinstance(term, Word))
    missing = [word for word in words if not index.is_named(word)]
    return [UnknownWord(word, index.names.nearest(word)) for word in missing]


def table(opened: OpenDatabase, hits: TableHits, offset: int, limit: int) -> NodeTable:
    """A page of the rows; a node without a partner has the score of what it hands on."""
    window = slice(offset, offset + limit)
    places = [hits.places[number] for number in hits.place[window].tolist()]
    nodes = opened.database.nodes_by_id(hits.ids[window].tolist())
    lone = [node.id for node in nodes if node.match is None]
    scores = scores_alone(opened.database, lone)
    nodes = [replace(n, score=scores[n.id]) if n.id in scores else n for n in nodes]
    modules = modules_of(opened.database, nodes)
    partners = opened.database.names_by_id([n.match for n in nodes if n.match is not None])
    stacks = opened.database.stacks_by_id(lone)
    rows = [
        _row(node, place, modules, partners, stacks)
        for node, place in zip(nodes, places, strict=len(nodes) == len(places))
    ]
    return NodeTable(len(hits.ids), offset, rows, hits.searched, hits.pairs)


def _row(
    node: Node,
    place: tuple[int, int],
    modules: Mapping[int, str],
    partners: Mapping[int, str],
    stacks: Mapping[int, int],
) -> NodeRow:
    partner = partners.get(node.match) if node.match is not None else None
    return NodeRow(*place, modules.get(node.id), node, partner, stacks.get(node.id))


def _places(opened: OpenDatabase, query: TableQuery) -> list[tuple[int, int]]:
    pairs = opened.database.summary().pairs
    here = [(pair.step, pair.rank) for pair in pairs]
    if (query.step, query.rank) not in here:
        raise BadArgumentError(
            f"step: there is no step {query.step} rank {query.rank} here", "choose another"
        )
    if query.scope == "pair":
        return [(query.step, query.rank)]
    return [place for place in here if query.scope == "all" or place[1] == query.rank]
