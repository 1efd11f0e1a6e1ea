"""The queries over databases of the real builder, alone and through patches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event

import builder
from builder.errors import UnknownNodeError
from builder.reasons import SamePlace
from builder.results.database import ResultDatabase
from builder.results.manual.patches import GraphChange, NodePatch, Patches
from builder.results.records import Node
from tb_graph_ascend.view.search.node_filter import NodeFilter
from tb_graph_ascend.view.search.node_index import pair_index

EVERYTHING = 10_000


@pytest.fixture(scope="module")
def database(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResultDatabase]:
    options = builder.BuildOptions(workers=1, overflow_check=True)
    out = tmp_path_factory.mktemp("made")
    made = builder.build(samples / "nan/problem", samples / "statistics/bench", out, options)
    opened = ResultDatabase(made.path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def nodes(database: ResultDatabase) -> list[Node]:
    return listed(database, NodeFilter())


def listed(database: ResultDatabase, wanted: NodeFilter) -> list[Node]:
    index = pair_index(database, 0, 0)
    ids = index.select(wanted, database.patches, database.threshold)
    return database.nodes_by_id(ids.tolist())


def test_children_of_all_nodes_are_all_nodes(database: ResultDatabase, nodes: list[Node]) -> None:
    found = [
        child.id for node in nodes for child in database.children(node.id, 0, EVERYTHING).children
    ]
    assert sorted(found) == sorted(node.id for node in nodes if node.parent is not None)
    assert all(
        database.children(node.id, 0, EVERYTHING).total == node.children for node in nodes[:50]
    )


def test_unknown_things_are_named(database: ResultDatabase) -> None:
    for ask in (
        lambda: database.node(10**9),
        lambda: database.path(10**9),
        lambda: database.details(10**9),
        lambda: database.children(10**9, 0, 1),
        lambda: database.pair(7, 7),
        lambda: pair_index(database, 7, 7),
    ):
        with pytest.raises(UnknownNodeError, match=database.file.name):
            ask()


FILTERS = st.builds(
    NodeFilter,
    show=st.sampled_from([None, "divergent", "overflow", "unmatched"]),
    side=st.sampled_from([None, "problem", "benchmark"]),
    direction=st.sampled_from([None, "forward", "backward"]),
    kind=st.sampled_from([None, "module", "api", "collection", "root"]),
    verdict=st.sampled_from([None, "pass", "warning", "error"]),
    min_score=st.one_of(st.none(), st.floats(0, 1)),
    name=st.sampled_from([None, "linear", "%", "mlp.FC1"]),
)


@settings(max_examples=30, deadline=None)
@given(wanted=FILTERS)
def test_filter_lets_through_what_it_says(
    database: ResultDatabase, nodes: list[Node], wanted: NodeFilter
) -> None:
    found = listed(database, wanted)
    assert {n.id for n in found} == {n.id for n in nodes if fits(n, wanted)}
    assert len(found) == len({n.id for n in found})


def fits(node: Node, wanted: NodeFilter) -> bool:
    plain = all(
        getattr(wanted, name) in (None, getattr(node, name))
        for name in ("side", "direction", "kind", "verdict")
    )
    scored = wanted.min_score is None or (node.score is not None and node.score >= wanted.min_score)
    named = wanted.name is None or wanted.name.lower() in node.name.lower()
    shown = {
        None: True,
        "divergent": node.score is not None and node.score > 0.25,
        "overflow": node.overflow is not None,
        "unmatched": node.match is None and node.kind not in ("root", "collection"),
    }[wanted.show]
    return plain and scored and named and shown


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sort", ["order", "score", "introduced", "name"])
def test_lists_are_sorted_and_what_is_missing_comes_last(
    database: ResultDatabase, sort: str, descending: bool
) -> None:
    wanted = replace(NodeFilter(), sort=sort, descending=descending)  # type: ignore[arg-type]
    whole = listed(database, wanted)
    known = [getattr(n, sort) for n in whole if getattr(n, sort) is not None]
    assert known == sorted(known, reverse=descending)
    assert [n for n in whole if getattr(n, sort) is None] == whole[len(known) :]


def test_patches_are_seen_by_every_query(database: ResultDatabase, nodes: list[Node]) -> None:
    target = next(n for n in nodes if n.match is None and n.kind == "api" and n.side == "problem")
    patch = NodePatch(nodes[-1].id, "manual", 0.9, 0.1, 0.8, "error", 0.5, 3, [SamePlace()])
    seen = database.with_patches(
        Patches({target.id: patch}, {target.graph: GraphChange(1, 1, 0.9)})
    )
    node = seen.node(target.id)
    assert (node.match, node.match_reason, node.score) == (nodes[-1].id, "manual", 0.9)
    assert (node.worst_below, node.divergent_below, node.reasons) == (0.5, 3, [SamePlace()])
    assert seen.path(target.id).path[-1] == node
    assert node in seen.children(target.parent or 0, 0, EVERYTHING).children
    unmatched = NodeFilter(show="unmatched")
    before = {n.id for n in listed(database, unmatched)}
    after = {n.id for n in listed(seen, unmatched)}
    assert before - after == {target.id}
    assert node in listed(seen, NodeFilter(show="divergent", min_score=0.9, verdict="error"))
    one, other = database.summary().pairs[0], seen.summary().pairs[0]
    assert (other.matched, other.divergent) == (one.matched + 1, one.divergent + 1)
    assert other.unmatched_problem == one.unmatched_problem - 1
    assert database.node(target.id) == target


def test_what_is_read_of_the_file_is_read_once_for_all_patches(
    database: ResultDatabase,
) -> None:
    opened = ResultDatabase(database.file)
    statements: list[str] = []
    event.listen(
        opened.stored.engine, "before_cursor_execute", lambda *said: statements.append(str(said[2]))
    )
    opened.with_patches(Patches()).summary()
    first = len(statements)
    assert first > 0
    opened.with_patches(Patches()).summary()
    opened.summary()
    assert len(statements) == first
    opened.close()


def test_flow_is_told_from_both_ends(database: ResultDatabase, nodes: list[Node]) -> None:
    ahead = {
        (node.id, link.node.id, link.value)
        for node in nodes
        for link in database.flow(node.id).consumers
    }
    back = {
        (link.node.id, node.id, link.value)
        for node in nodes
        for link in database.flow(node.id).producers
    }
    assert ahead == back
    assert len(ahead) > 20
