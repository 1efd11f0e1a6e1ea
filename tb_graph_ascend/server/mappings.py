"""Manual mapping: pair nodes by hand, take it back, replace all pairs at once."""

from __future__ import annotations

from collections.abc import Sequence

from flask import request

from builder.database.queries import ResultDatabase
from builder.database.records import Node
from builder.match.manual_file import MappedPair
from tb_graph_ascend.server.errors import ConflictError
from tb_graph_ascend.server.library import OpenDatabase
from tb_graph_ascend.server.messages import (
    MappingResult,
    Mappings,
    MapRequest,
    Refused,
    ReplaceRequest,
    UnmapRequest,
)
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace

_FAILURES = (400, 403, 404, 409, 415, 422)


def resource(place: Workplace) -> Resource:
    """Routes of `/api/databases/<db>/mappings`."""
    routes = Resource("mappings")
    path = "/databases/<db>/mappings"

    @routes.route(path, answer=Mappings, failures=(400, 404, 409, 422))
    def show(db: str) -> Mappings:
        """The manual pairs of a database."""
        opened = _open(place, db)
        pairs = place.manual.seen_by(request).strictly(opened.file)
        return place.manual.describe(request, opened.file, pairs)

    @routes.route(path, method="POST", body=MapRequest, answer=MappingResult, failures=_FAILURES)
    def add(db: str, wanted: MapRequest) -> MappingResult:
        """Map two unmatched nodes; a pair that does not fit is refused with the reason."""
        with place.manual.lock:
            opened = _open(place, db)
            return _add(place, opened, wanted)

    @routes.route(
        path, method="DELETE", body=UnmapRequest, answer=MappingResult, failures=_FAILURES
    )
    def remove(db: str, wanted: UnmapRequest) -> MappingResult:
        """Undo the manual pair that a node of the problem side is part of."""
        with place.manual.lock:
            opened = _open(place, db)
            pairs = place.manual.seen_by(request).strictly(opened.file)
            index = opened.overlay.origin.get(wanted.problem)
            if index is None:
                raise ConflictError(
                    f"node {wanted.problem} is not paired by hand", "choose a manual pair"
                )
            return _replace(place, opened, pairs[:index] + pairs[index + 1 :])

    @routes.route(path, method="PUT", body=ReplaceRequest, answer=MappingResult, failures=_FAILURES)
    def replace(db: str, wanted: ReplaceRequest) -> MappingResult:
        """Replace all manual pairs: undo, redo, import."""
        with place.manual.lock:
            return _replace(place, _open(place, db), wanted.pairs)

    return routes


def _open(place: Workplace, db: str) -> OpenDatabase:
    opened = place.open(db)
    if not opened.writable:
        raise ConflictError(
            f"{opened.file.shown} was written by another tool and takes no manual pairs",
            "compare the dumps with `msprobe graph_visualize`",
        )
    if not opened.database.comparison:
        raise ConflictError(
            f"{opened.file.shown} holds a single graph", "compare two dumps to map their nodes"
        )
    return opened


def _add(place: Workplace, opened: OpenDatabase, wanted: MapRequest) -> MappingResult:
    pairs = place.manual.seen_by(request).strictly(opened.file)
    pair = _named(opened, wanted)
    if isinstance(pair, Refused):
        return MappingResult(place.manual.describe(request, opened.file, pairs), [], [pair])
    after = place.library.seen_through(opened, [*pairs, pair])
    refused = [r for index, r in after.overlay.refused if index == len(pairs)]
    if len(pairs) not in after.overlay.origin.values():
        return MappingResult(place.manual.describe(request, opened.file, pairs), [], refused)
    mappings = place.manual.save(request, opened.file, [*pairs, pair])
    return MappingResult(mappings, _changed(opened, after), refused)


def _named(opened: OpenDatabase, wanted: MapRequest) -> MappedPair | Refused:
    """The two nodes as a pair by names, whichever was clicked first."""
    database = opened.database
    assert isinstance(database, ResultDatabase)
    one, other = database.node(wanted.problem), database.node(wanted.benchmark)
    problem, benchmark = (one, other) if one.side == "problem" else (other, one)
    if one.side == other.side:
        return Refused(one.name, other.name, {"code": "same_side", "side": one.side})
    place = {row.id: (row.step, row.rank) for row in database.graphs}
    if place[one.graph] != place[other.graph]:
        return Refused(problem.name, benchmark.name, {"code": "other_pair"})
    step, rank = (None, None) if wanted.everywhere else place[one.graph]
    return MappedPair(
        problem=problem.name,
        benchmark=benchmark.name,
        descendants=wanted.descendants,
        step=step,
        rank=rank,
    )


def _replace(place: Workplace, opened: OpenDatabase, pairs: Sequence[MappedPair]) -> MappingResult:
    after = place.library.seen_through(opened, pairs)
    mappings = place.manual.save(request, opened.file, list(pairs))
    return MappingResult(mappings, _changed(opened, after), [r for _, r in after.overlay.refused])


def _changed(before: OpenDatabase, after: OpenDatabase) -> list[Node]:
    old, new = before.overlay.patches.nodes, after.overlay.patches.nodes
    ids = sorted(id_ for id_ in old.keys() | new.keys() if old.get(id_) != new.get(id_))
    return after.database.nodes_by_id(ids)
