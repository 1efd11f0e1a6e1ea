"""Files that are no result database, or a hostile one, are refused in one line and never run."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy.exc import SQLAlchemyError

import builder
from builder.errors import DatabaseError
from builder.reasons import NotUnderstood
from builder.results import opening
from builder.results.database import ResultDatabase
from builder.results.opening import format_of, ran_too_long
from tb_graph_ascend.view.search.node_index import pair_index


@pytest.fixture(scope="module")
def original(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = builder.BuildOptions(workers=1)
    out = tmp_path_factory.mktemp("made")
    made = builder.build(samples / "tensor/problem", samples / "tensor/bench", out, options)
    return made.path


@pytest.fixture
def changed(original: Path, tmp_path: Path) -> Callable[..., Path]:
    def change(*statements: str) -> Path:
        path = tmp_path / "changed.vis.db"
        path.write_bytes(original.read_bytes())
        connection = sqlite3.connect(path, isolation_level=None)
        for statement in statements:
            connection.execute(statement)
        connection.close()
        return path

    return change


def test_own_and_msprobe_files_are_told_apart(original: Path, samples: Path) -> None:
    assert format_of(original) == "own"
    assert format_of(samples / "vis-db" / "ranks.vis.db") == "msprobe"


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "has not the tables"), (b"hello" * 500, "no database"), (None, "cannot be opened")],
)
def test_other_files_are_refused(content: bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.vis.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DatabaseError, match=said) as caught:
        format_of(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_file_that_was_cut_short_is_refused(original: Path, tmp_path: Path, share: float) -> None:
    content = original.read_bytes()
    path = tmp_path / "cut.vis.db"
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(DatabaseError, match="build it again"):
        format_of(path)


def test_other_version_and_missing_columns_are_refused(changed: Callable[..., Path]) -> None:
    with pytest.raises(DatabaseError, match="schema version 99"):
        format_of(changed("UPDATE meta SET value = '99' WHERE key = 'schema_version'"))
    with pytest.raises(DatabaseError, match="has not the tables"):
        format_of(changed("ALTER TABLE node DROP COLUMN score"))


def test_view_in_place_of_a_table_is_refused(changed: Callable[..., Path]) -> None:
    endless = (
        "CREATE VIEW node AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
        "SELECT o.* FROM n JOIN old o"
    )
    with pytest.raises(DatabaseError, match="has not the tables"):
        format_of(changed("ALTER TABLE node RENAME TO old", endless))


def test_nothing_can_be_written(original: Path) -> None:
    database = ResultDatabase(original)
    with (
        database.stored.engine.connect() as connection,
        pytest.raises(SQLAlchemyError, match="readonly"),
    ):
        connection.exec_driver_sql("DELETE FROM node")
    database.close()


def test_time_is_that_of_one_statement_not_of_all_that_is_done_between(
    original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_LONGEST_USE_SECONDS", 0.2)
    monkeypatch.setattr(opening, "_PROGRESS_STEPS", 1)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    database = ResultDatabase(original)
    with database.stored.engine.connect() as connection:
        for _ in range(3):
            time.sleep(0.15)
            assert connection.exec_driver_sql("SELECT count(*) FROM node").scalar_one() > 5
        with pytest.raises(SQLAlchemyError, match="interrupted") as caught:
            connection.exec_driver_sql(endless).scalar_one()
    assert ran_too_long(caught.value.__cause__)
    database.close()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="sqlite3 takes limits from 3.11 on")
def test_huge_text_is_refused(changed: Callable[..., Path]) -> None:
    path = changed("UPDATE node SET label = printf('%.*c', 9000000, 'x') WHERE id = 2")
    database = ResultDatabase(path)
    with pytest.raises(SQLAlchemyError, match="too big"):
        database.node(2)
    database.close()


def test_parents_in_a_circle_end(changed: Callable[..., Path]) -> None:
    path = changed(
        "UPDATE node SET parent = 9 WHERE id = 2", "UPDATE node SET parent = 2 WHERE id = 9"
    )
    database = ResultDatabase(path)
    assert len(database.path(9).path) <= 3
    database.close()


def test_wrong_types_and_broken_text_are_shown_not_run(changed: Callable[..., Path]) -> None:
    path = changed(
        "UPDATE node SET reasons = '{broken', name = CAST(x'ff3c7363726970743e' AS TEXT), "
        "label = '<script>alert(1)</script>' WHERE id = 2",
        "UPDATE meta SET value = 'no json' WHERE key IN ('options', 'summary')",
    )
    database = ResultDatabase(path)
    node = database.node(2)
    assert node.label == "<script>alert(1)</script>"
    assert node.name.endswith("<script>")
    assert isinstance(node.reasons[0], NotUnderstood)
    assert isinstance(database.summary().summary[0], NotUnderstood)
    assert len(pair_index(database, 0, 0).columns.id) > 5
    database.close()
