"""Manual mapping: pair nodes by hand or as proposed, take it back, take in a file."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from flask import request

from builder.match.manual_file import MappedPair
from builder.results.database import ResultDatabase
from builder.results.records import Node
from tb_graph_ascend.server.errors import ConflictError
from tb_graph_ascend.server.library import OpenDatabase
from tb_graph_ascend.server.messages import (
    ChangeRequest,
    MapAllRequest,
    MappingResult,
    Mappings,
    MapRequest,
    PairSet,
    Proposals,
    Refused,
    ReplaceRequest,
    UnmapRequest,
)
from tb_graph_ascend.server.proposals import lone_updates, propose
from tb_graph_ascend.server.resource import Resource
from tb_graph_ascend.server.workplace import Workplace

_PROPOSALS = "/databases/<db>/pairs/<int(signed=True):step>/<int(signed=True):rank>/proposals"
_MOST_ROUNDS = 4  # what is found in a round is measured before the next is looked for
_FAILURES = (400, 403, 404, 409, 415, 422)


def resource(place: Workplace) -> Resource:
    """Routes of `/api/databases/<db>/mappings`."""
    routes = Resource("mappings")
    path = "/databases/<db>/mappings"

    @routes.route(path, answer=Mappings, failures=(400, 404, 409, 422))
    def show(db: str) -> Mappings:
        """The manual pairs of a database."""
        opened = _open(place, db)
        pairs = place.manual.seen_by(request).strictly(opened.file, opened.built)
        return place.manual.describe(request, opened.file, pairs, opened.built)

    @routes.route(path, method="POST", body=MapRequest, answer=MappingResult, failures=_FAILURES)
    def add(db: str, wanted: MapRequest) -> MappingResult:
        """Map two unmatched nodes; a pair that does not fit is refused with the reason."""
        with place.manual.changing(request, db):
            opened = _open(place, db)
            return _add(place, opened, wanted)

    @routes.route(
        path, method="DELETE", body=UnmapRequest, answer=MappingResult, failures=_FAILURES
    )
    def remove(db: str, wanted: UnmapRequest) -> MappingResult:
        """Undo the manual pair that a node of the problem side is part of."""
        with place.manual.changing(request, db):
            opened = _open(place, db)
            pairs = place.manual.seen_by(request).strictly(opened.file, opened.built)
            index = _index_of(opened, pairs, wanted.problem)
            if index is None:
                raise ConflictError(
                    f"node {wanted.problem} is not paired by hand", "choose a manual pair"
                )
            return _replace(place, opened, pairs[:index] + pairs[index + 1 :])

    @routes.route(path, method="PUT", body=ReplaceRequest, answer=MappingResult, failures=_FAILURES)
    def replace(db: str, wanted: ReplaceRequest) -> MappingResult:
        """Replace all manual pairs by those of a file."""
        with place.manual.changing(request, db):
            return _replace(place, _open(place, db), wanted.pairs)

    @routes.route(
        path, method="PATCH", body=ChangeRequest, answer=MappingResult, failures=_FAILURES
    )
    def change(db: str, wanted: ChangeRequest) -> MappingResult:
        """Take pairs out and put pairs in; what anybody else mapped meanwhile stays."""
        with place.manual.changing(request, db):
            opened = _open(place, db)
            pairs = place.manual.seen_by(request).strictly(opened.file, opened.built)
            known, removed = set(pairs), set(wanted.remove)
            gone = next((pair for pair in wanted.remove if pair not in known), None)
            if gone is not None:
                raise ConflictError(
                    f"{gone.problem} is no longer mapped to {gone.benchmark}",
                    "somebody changed it since; look at the pairs as they are now",
                )
            kept = [pair for pair in pairs if pair not in removed]
            taken = {_side_of(pair) for pair in kept}
            new = [pair for pair in wanted.add if _side_of(pair) not in taken]
            return _replace(place, opened, [*kept, *new])

    _add_proposals(routes, place)

    @routes.route(
        "/pair-sets", method="POST", body=ReplaceRequest, answer=PairSet, failures=(400, 403, 415)
    )
    def keep(wanted: ReplaceRequest) -> PairSet:
        """Lay down the pairs of a session, for a header cannot hold them all."""
        return PairSet(place.manual.sets.keep(wanted.pairs))

    return routes


def _add_proposals(routes: Resource, place: Workplace) -> None:
    @routes.route(
        _PROPOSALS,
        answer=Proposals,
        failures=(400, 404, 409, 422),
    )
    def proposals(db: str, step: int, rank: int) -> Proposals:
        """Unmatched modules that seem to be the same under another name."""
        opened = _open(place, db)
        assert isinstance(opened.database, ResultDatabase)
        found = propose(opened.database, step, rank)
        return Proposals(found, lone_updates(opened.database, step, rank))

    @routes.route(
        _PROPOSALS,
        method="POST",
        body=MapAllRequest,
        answer=MappingResult,
        failures=_FAILURES,
    )
    def map_all(db: str, step: int, rank: int, _: MapAllRequest) -> MappingResult:
        """Map all that is proposed, and all that is proposed once that is mapped."""
        with place.manual.changing(request, db):
            opened = _open(place, db)
            pairs = place.manual.seen_by(request).strictly(opened.file, opened.built)
            return _replace(place, opened, _with_proposed(place, opened, pairs, (step, rank)))


def _with_proposed(
    place: Workplace, opened: OpenDatabase, pairs: list[MappedPair], at: tuple[int, int]
) -> list[MappedPair]:
    known = {(pair.problem, pair.benchmark) for pair in pairs}
    for _ in range(_MOST_ROUNDS):
        database = place.library.seen_through(opened, pairs).database
        assert isinstance(database, ResultDatabase)
        proposed = [pair for one in propose(database, *at) for pair in one.pairs]
        new = [pair for pair in proposed if (pair.problem, pair.benchmark) not in known]
        if not new:
            break
        known |= {(pair.problem, pair.benchmark) for pair in new}
        pairs = [*pairs, *new]
    return pairs


def _index_of(opened: OpenDatabase, pairs: Sequence[MappedPair], problem: int) -> int | None:
    """Which pair a node of the problem side was paired by, since the build or by it."""
    index = opened.overlay.origin.get(problem)
    if index is not None:
        return index
    database = opened.database
    assert isinstance(database, ResultDatabase)
    node, *_ = path = database.path(problem).path[::-1]
    if node.match_reason != "manual":
        return None
    row = next(row for row in database.stored.graphs if row.id == node.graph)
    above = [one.name for one in path]
    named = [
        (above.index(pair.problem), index)
        for index, pair in enumerate(pairs)
        if pair.problem in above and pair.applies_to(row.step, row.rank)
    ]
    return min(named)[1] if named else None


def _side_of(pair: MappedPair) -> tuple[str, int | None, int | None]:
    """What can be mapped once: a problem node in its step and rank."""
    return pair.problem, pair.step, pair.rank


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
    pairs = place.manual.seen_by(request).strictly(opened.file, opened.built)
    named = [_named(opened, one) for one in (_in_order(place, opened, wanted) or [wanted])]
    new = [one for one in named if isinstance(one, MappedPair)]
    refused = [one for one in named if isinstance(one, Refused)]
    after = place.library.seen_through(opened, [*pairs, *new])
    refused += [r for index, r in after.overlay.refused if index >= len(pairs)]
    fits = set(after.overlay.origin.values())
    added = [pair for index, pair in enumerate(new, len(pairs)) if index in fits]
    if not added:
        return _unchanged(place, opened, pairs, refused)
    after = place.library.seen_through(opened, [*pairs, *added])
    mappings = place.manual.save(request, opened.file, [*pairs, *added], opened.built)
    return MappingResult(mappings, _changed(opened, after), refused, added, [])


def _in_order(place: Workplace, opened: OpenDatabase, wanted: MapRequest) -> list[MapRequest]:
    """What two runs of repeats pair, the first with the first; empty where they are none."""
    database = opened.database
    assert isinstance(database, ResultDatabase)
    if not wanted.folds:
        return []
    graph = database.node(wanted.problem).graph
    step, rank = next((row.step, row.rank) for row in database.stored.graphs if row.id == graph)
    index = place.library.diff(opened, step, rank)
    runs = [
        [int(index.rows.key[row]) for row in index.runs.of(int(first))]
        for first in index.rows.rows_of(np.array([wanted.problem, wanted.benchmark]))
    ]
    return [
        msgspec.structs.replace(wanted, problem=one, benchmark=other)
        for one, other in zip(*runs, strict=False)
    ]


def _unchanged(
    place: Workplace, opened: OpenDatabase, pairs: list[MappedPair], refused: list[Refused]
) -> MappingResult:
    mappings = place.manual.describe(request, opened.file, pairs, opened.built)
    return MappingResult(mappings, [], refused, [], [])


def _named(opened: OpenDatabase, wanted: MapRequest) -> MappedPair | Refused:
    """The two nodes as a pair by names, whichever was clicked first."""
    database = opened.database
    assert isinstance(database, ResultDatabase)
    one, other = database.node(wanted.problem), database.node(wanted.benchmark)
    problem, benchmark = (one, other) if one.side == "problem" else (other, one)
    if one.side == other.side:
        return Refused(one.name, other.name, {"code": "same_side", "side": one.side})
    place = {row.id: (row.step, row.rank) for row in database.stored.graphs}
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
    before = place.manual.seen_by(request).for_reading(opened.file, opened.built)
    after = place.library.seen_through(opened, pairs)
    mappings = place.manual.save(request, opened.file, list(pairs), opened.built)
    known, wanted = set(before), set(pairs)
    return MappingResult(
        mappings,
        _changed(opened, after),
        [refused for _, refused in after.overlay.refused],
        added=[pair for pair in pairs if pair not in known],
        removed=[pair for pair in before if pair not in wanted],
    )


def _changed(before: OpenDatabase, after: OpenDatabase) -> list[Node]:
    old, new = before.overlay.patches.nodes, after.overlay.patches.nodes
    ids = sorted(id_ for id_ in old.keys() | new.keys() if old.get(id_) != new.get(id_))
    return after.database.nodes_by_id(ids)
