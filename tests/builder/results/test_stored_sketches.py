"""Sketches lie in a result as bytes; files that hold their digits are read as well."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from builder import build
from builder.results.database import ResultDatabase
from builder.results.value_pairs import Measure
from tests.builder.compare.test_sketches import A, X, recorded
from tests.builder.dumps import forward, write_dump


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for side, values in (("p", X.flip(0)), ("b", X)):
        data = {A: forward([recorded(X)], [recorded(values)])}
        write_dump(tmp_path / side, data, {A: None}, sketch_version=1)
    return build(tmp_path / "p", tmp_path / "b", tmp_path / "out").path


def estimates(file: Path) -> list[tuple[Measure, Measure]]:
    opened = ResultDatabase(file)
    try:
        with closing(sqlite3.connect(file)) as connection:
            query = "SELECT id FROM node WHERE name = ? ORDER BY id LIMIT 1"
            (node,) = connection.execute(query, (A,)).fetchone()
        measured = [value.measures for value in opened.details(node).values]
        return [(m["Estimated Relative Error"], m["Estimated Cosine"]) for m in measured]
    finally:
        opened.close()


def test_a_result_holds_them_in_half_the_room(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        stored = connection.execute("SELECT sketch FROM record").fetchall()
    assert [len(sketch) for (sketch,) in stored] == [32] * 4
    assert all(isinstance(sketch, bytes) for (sketch,) in stored)


def test_digits_of_earlier_files_say_the_same(file: Path) -> None:
    before = estimates(file)
    truth = ((X.flip(0) - X).norm() / X.norm()).item()
    assert before[0] == (0.0, 1.0)
    assert before[1][0] == pytest.approx(truth, rel=0.6)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE record SET sketch = lower(hex(sketch))")
        connection.commit()
    assert estimates(file) == before
