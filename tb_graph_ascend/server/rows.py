"""Both sides of a step and rank as one list of rows, the strip over them, their modules."""

from __future__ import annotations

from typing import Annotated

import msgspec

from builder.results.followers.spread import DivergentShares, divergent_nodes, shares_of
from builder.results.records import NodeList
from builder.results.shared_weights import (
    SharedWeights,
    WeightRelation,
    matching_weights,
    shared_weights,
)
from tb_graph_ascend.server.graphs import Limit, Offset
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace
from tb_graph_ascend.view.diff.boxes import ModuleGraph, graph_of
from tb_graph_ascend.view.diff.index import Wanted
from tb_graph_ascend.view.diff.openness import PATTERN
from tb_graph_ascend.view.diff.outline import OutlineWindow, OutlineWish, outline_of
from tb_graph_ascend.view.diff.profile import Profile
from tb_graph_ascend.view.diff.window import RowWindow, window_of, with_handed_on, with_outputs

_Id = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_PAIR = "/databases/<db>/pairs/<int(signed=True):step>/<int(signed=True):rank>"


class RowQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of which list: `open` says what is open, as tokens joined by dots.

    `12` opens a node, `12a` all below it, `-12` closes it, `f12` unfolds the run that begins at
    it. `keep` is a node that is not to be folded, `reveal` one to open the way to; with `cause`
    and `target` only rows on ways to the target are listed: from where it goes back to, and from
    the cause that is asked for where it goes back to none.
    """

    open: Annotated[str, msgspec.Meta(max_length=32_000, pattern=PATTERN)] = ""
    keep: _Id | None = None
    reveal: _Id | None = None
    cause: _Id | None = None
    target: _Id | None = None
    offset: Offset = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 150


class GraphQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which module, by a node that it is or that stands in it, and which boxes in it are open."""

    module: _Id
    open: Annotated[
        str, msgspec.Meta(max_length=8_000, pattern=r"^(?:\d{1,16}(?:\.\d{1,16})*)?$")
    ] = ""


class OutlineQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of the tree of modules: `toggled` are entries joined by dots.

    `here` is a node whose module is looked for, `prefix` how a title begins that is looked for
    below the row `after`.
    """

    toggled: Annotated[
        str, msgspec.Meta(max_length=32_000, pattern=r"^(?:\d{1,9}(?:\.\d{1,9})*)?$")
    ] = ""
    divergent: bool = False
    here: _Id | None = None
    prefix: Annotated[str, msgspec.Meta(max_length=200)] = ""
    after: Offset = 0
    offset: Offset = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 200


class DivergentQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of which cause, by its nodes joined by dots; left out means those that go back to none.

    With `earlier` it is those that go back into the step before, with `perhaps` those that a guess
    leads back to a cause.
    """

    cause: (
        Annotated[str, msgspec.Meta(max_length=8_000, pattern=r"^\d{1,16}(?:\.\d{1,16})*$")] | None
    ) = None
    earlier: bool = False
    perhaps: bool = False
    offset: Offset = 0
    limit: Limit = 200


class WeightQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Weights with `part` in a path of either side, of one relation; left out means all."""

    part: Annotated[str, msgspec.Meta(max_length=200)] = ""
    relation: WeightRelation | None = None
    offset: Offset = 0
    limit: Limit = 200


def resource(place: Workplace) -> Resource:
    """Routes of `/api/databases/<db>/pairs/<step>/<rank>`: rows, graph, outline, weights, …."""
    routes = Resource("rows")

    @routes.route(f"{_PAIR}/rows", query=RowQuery, answer=RowWindow)
    def rows(db: str, step: int, rank: int, query: RowQuery) -> RowWindow:
        """A window of the rows of a pair, with what flows beside them."""
        index = place.library.diff(place.open(db), step, rank)
        way = None
        if query.cause is not None and query.target is not None:
            way = (query.cause, query.target)
        kept = () if query.keep is None else (query.keep,)
        wanted = Wanted(query.open, kept, way)
        window = window_of(index, wanted, query.offset, query.limit, query.reveal)
        database = place.open(db).database
        if database.comparison:
            return with_handed_on(window, database)
        return with_outputs(window, database, index)

    @routes.route(f"{_PAIR}/graph", query=GraphQuery, answer=ModuleGraph)
    def graph(db: str, step: int, rank: int, query: GraphQuery) -> ModuleGraph:
        """One open module as boxes and edges."""
        opened = place.open(db)
        index = place.library.diff(opened, step, rank)
        boxes = [int(one) for one in query.open.split(".") if one]
        return graph_of(opened.database, index, query.module, boxes)

    @routes.route(f"{_PAIR}/profile", answer=Profile)
    def profile(db: str, step: int, rank: int) -> Profile:
        """The whole pair as a strip over execution order."""
        return place.library.profile(place.open(db), step, rank)

    @routes.route(f"{_PAIR}/shares", answer=DivergentShares)
    def shares(db: str, step: int, rank: int) -> DivergentShares:
        """How many divergent nodes of a pair go back to each cause there, and to none."""
        return shares_of(place.library.diff(place.open(db), step, rank).followers)

    @routes.route(f"{_PAIR}/divergent", query=DivergentQuery, answer=NodeList)
    def divergent(db: str, step: int, rank: int, query: DivergentQuery) -> NodeList:
        """A page of the divergent nodes of a pair that go back to one cause, or to none."""
        opened = place.open(db)
        places = None if query.cause is None else [int(node) for node in query.cause.split(".")]
        index = place.library.diff(opened, step, rank)
        ids = divergent_nodes(index.followers, places, query.earlier, query.perhaps)
        page = ids[query.offset : query.offset + query.limit].tolist()
        return NodeList(len(ids), query.offset, opened.database.nodes_by_id(page))

    @routes.route(f"{_PAIR}/outline", query=OutlineQuery, answer=OutlineWindow)
    def outline(db: str, step: int, rank: int, query: OutlineQuery) -> OutlineWindow:
        """A window of the modules of a pair as a tree of their own."""
        index = place.library.diff(place.open(db), step, rank)
        toggled = [int(entry) for entry in query.toggled.split(".") if entry]
        wish = OutlineWish(toggled, query.divergent, query.here, query.prefix, query.after)
        return outline_of(index, wish, query.offset, query.limit)

    @routes.route(f"{_PAIR}/weights", query=WeightQuery, answer=SharedWeights)
    def weights(db: str, step: int, rank: int, query: WeightQuery) -> SharedWeights:
        """A page of the parameters that two programs of one model share."""
        database = place.open(db).database
        every = shared_weights(database, step, rank)
        found = matching_weights(every, query.part, query.relation)
        page = found[query.offset : query.offset + query.limit]
        return SharedWeights(len(every), len(found), query.offset, page)

    return routes
