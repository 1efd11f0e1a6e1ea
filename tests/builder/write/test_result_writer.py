"""Rows arrive as they were given, ids never collide, and only a complete file has its name."""

from __future__ import annotations

import sqlite3
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.errors import OutputError
from builder.processes.second_process import CAN_FORK
from builder.write.result_writer import Database, insert_columns
from builder.write.tables import TABLES

CELLS = st.tuples(
    st.floats(allow_nan=False) | st.just(float("nan")),
    st.none() | st.integers(0, 1 << 40),
    st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(CELLS, max_size=8))
def test_columns_become_rows_with_null_for_nothing(
    tmp_path: Path, rows: list[tuple[float, int | None, str | None]]
) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, real REAL, number INTEGER, text)")
    full = {"id": range(1, len(rows) + 1), "real": [row[0] for row in rows]}
    sparse = {"number": [row[1] for row in rows], "text": [row[2] for row in rows]}
    insert_columns(connection, "t", full, sparse)
    expected = [(None if row[0] != row[0] else row[0], *row[1:]) for row in rows]
    found = connection.execute("SELECT real, number, text FROM t ORDER BY id").fetchall()
    connection.close()
    assert found == expected


def test_columns_of_unequal_length_are_our_own_mistake(tmp_path: Path) -> None:
    database = Database.create(tmp_path, "x")
    with pytest.raises(ValueError, match="zip"), database.transaction() as connection:
        insert_columns(connection, "stack", {"id": [1, 2], "text": ["a"]}, {})
    database.discard()


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    database = Database.create(tmp_path, "x")
    with pytest.raises(KeyError), database.transaction() as connection:
        insert_columns(connection, "stack", {"id": [1], "text": ["a"]}, {})
        raise KeyError
    with database.transaction() as connection:
        assert connection.execute("SELECT count(*) FROM stack").fetchone() == (0,)
    database.discard()
    assert list(tmp_path.iterdir()) == []


def test_reserved_ids_follow_each_other(tmp_path: Path) -> None:
    database = Database.create(tmp_path, "x")
    assert database.reserve({"node": 5, "graph": 2}) == {"node": 1, "graph": 1}
    assert database.reserve({"node": 1}) == {"node": 6}
    path = database.finish()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM meta").fetchone() == (0,)
    connection.close()


def _reserve_often(final: Path, found: object) -> None:
    database = Database(final)
    for _ in range(50):
        found.put(database.reserve({"node": 3})["node"])  # type: ignore[attr-defined]
    database.close()


@pytest.mark.skipif(not CAN_FORK, reason="starting processes afresh takes too long")
def test_ids_are_unique_over_processes(tmp_path: Path) -> None:
    database = Database.create(tmp_path, "x")
    context = get_context("fork")
    found = context.SimpleQueue()
    processes = [
        context.Process(target=_reserve_often, args=(database.final, found)) for _ in range(3)
    ]
    for process in processes:
        process.start()
    ids = [found.get() for _ in range(150)]
    for process in processes:
        process.join()
    database.discard()
    assert sorted(ids) == list(range(1, 451, 3))


def test_only_a_complete_file_has_its_final_name(tmp_path: Path) -> None:
    database = Database.create(tmp_path, "x")
    assert not database.final.exists()
    path = database.finish()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        assert {name for (name,) in tables} == {table.name for table in TABLES}
    connection.close()


def test_two_of_one_name_do_not_collide(tmp_path: Path) -> None:
    databases = [Database.create(tmp_path, "x") for _ in range(3)]
    assert len({database.finish() for database in databases}) == 3


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(OutputError, match="a file is in the way"):
        Database.create(tmp_path / "out", "x")
