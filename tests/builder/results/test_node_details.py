"""What is known of many nodes at once is what the file says of each, and of no other."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import builder
from builder.results.database import ResultDatabase


@pytest.fixture(scope="module")
def opened(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResultDatabase]:
    """Ranks that talk to each other: they have stacks, values and communication."""
    out = tmp_path_factory.mktemp("details")
    made = builder.build(
        samples / "ranks/problem", samples / "ranks/bench", out, builder.BuildOptions(workers=1)
    )
    opened = ResultDatabase(made.path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def ids(opened: ResultDatabase) -> list[int]:
    return [row[0] for row in _rows(opened, "SELECT id FROM node ORDER BY id")]


def _rows(opened: ResultDatabase, query: str) -> list[tuple[int, ...]]:
    with closing(sqlite3.connect(opened.file)) as connection:
        return connection.execute(query).fetchall()


def test_all_at_once_are_each_alone(opened: ResultDatabase, ids: list[int]) -> None:
    at_once = opened.details_of(ids)
    assert [told.node.id for told in at_once] == ids
    for told in at_once[:: max(1, len(ids) // 200)]:
        assert told == opened.details(told.node.id)


def test_each_has_the_values_that_lie_with_it(opened: ResultDatabase, ids: list[int]) -> None:
    stored: dict[int, set[int]] = {}
    for node, value in _rows(opened, "SELECT node, id FROM value"):
        stored.setdefault(node, set()).add(value)
    assert stored
    for told in opened.details_of(ids):
        sides = {"problem": told.node, "benchmark": told.partner}
        if told.node.side == "benchmark":
            sides = {"problem": told.partner, "benchmark": told.node}
        for side, node in sides.items():
            shown = {one.id for pair in told.values if (one := getattr(pair, side)) is not None}
            assert shown == (stored.get(node.id, set()) if node is not None else set())


def test_each_has_its_own_stack(opened: ResultDatabase, ids: list[int]) -> None:
    query = "SELECT node.id, stack.text FROM node LEFT JOIN stack ON stack.id = node.stack"
    texts = {id_: str(text).splitlines() if text else None for id_, text in _rows(opened, query)}
    assert any(texts.values())
    for told in opened.details_of(ids):
        own = told.stack.problem if told.node.side == "problem" else told.stack.benchmark
        assert own == texts[told.node.id]


def test_links_of_all_are_those_that_flow_tells_of_each(
    opened: ResultDatabase, ids: list[int]
) -> None:
    told = {
        (link.node.id, id_, link.value, link.path, link.exact)
        for id_ in ids
        for link in opened.flow(id_).producers
    }
    found = set()
    for pair in opened.summary().pairs:
        links = opened.links(pair.step, pair.rank)
        paths = list(links.paths)
        cells = zip(
            links.producer, links.consumer, links.value, links.path, links.exact, strict=True
        )
        found |= {(a, b, value, paths[path], bool(exact)) for a, b, value, path, exact in cells}
    assert found == told != set()
