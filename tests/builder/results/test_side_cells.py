"""The columns of a graph are the cells of its rows, whatever a file holds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder import build
from builder.results import side_cells as pair_cells
from builder.results.side_cells import by_column, read_cells
from builder.results.side_nodes import SIDE_CELLS, Cells
from builder.write.tables import GRAPH, NODE

NUMBERS = st.none() | st.floats(allow_nan=False)
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
ODD_NAMES = st.none() | st.integers(-(2**62), 2**62) | st.text(max_size=5)
ODD = ODD_NAMES | st.binary(max_size=5)


def rows_of(connection: sqlite3.Connection, graph: int) -> list[tuple[Any, ...]]:
    wanted = ", ".join((*SIDE_CELLS, "name"))
    return connection.execute(
        f"SELECT {wanted} FROM node WHERE graph = ? ORDER BY id", (graph,)
    ).fetchall()


def told(cells: Cells) -> list[list[Any]]:
    """Columns as lists; what is no number is None, in arrays too."""
    columns = [c.tolist() if isinstance(c, np.ndarray) else c for c in cells]
    return [[None if repr(cell) == "nan" else cell for cell in column] for column in columns]


def database_of(nodes: list[tuple[Any, Any, Any, Any, Any]]) -> sqlite3.Connection:
    """One graph with these nodes: exec_order, score, introduced, source, name."""
    connection = sqlite3.connect(":memory:")
    for table in (GRAPH, NODE):
        # Constraints are what a file made by hand leaves out.
        connection.execute(f"CREATE TABLE {table.name} ({', '.join(table.columns)})")
    connection.execute("INSERT INTO graph (id, root) VALUES (1, 1)")
    for id_, (order, score, introduced, source, name) in enumerate(nodes, 1):
        connection.execute(
            "INSERT INTO node (id, graph, last, exec_order, score, introduced, source, name) "
            "VALUES (?, 1, ?, ?, ?, ?, ?, ?)",
            (id_, len(nodes), order, score, introduced, source, name),
        )
    return connection


def test_samples_read_the_same_in_pieces_and_in_rows(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = build(samples / "statistics/problem", samples / "statistics/bench", tmp_path)
    monkeypatch.setattr(pair_cells, "_CHUNK", 100)
    with closing(sqlite3.connect(made.path)) as connection:
        for graph in (1, 2):
            rows = rows_of(connection, graph)
            assert len(rows) > 100
            assert told(read_cells(connection.cursor(), graph)) == told(by_column(rows))
        assert read_cells(connection.cursor(), None) == by_column([])
        assert read_cells(connection.cursor(), 77) == by_column([])


@given(st.lists(st.tuples(st.integers(0, 99), NUMBERS, NUMBERS, st.none(), NAMES), max_size=5))
def test_numbers_are_kept_to_15_digits_and_names_to_the_letter(nodes: list[Any]) -> None:
    with closing(database_of(nodes)) as connection:
        expected = by_column(rows_of(connection, 1))
        found = read_cells(connection.cursor(), 1)
    for cell, ours, theirs in zip((*SIDE_CELLS, "name"), told(found), told(expected), strict=True):
        if cell in ("score", "introduced"):
            assert [n is None for n in ours] == [n is None for n in theirs]
            given, wanted = ([n for n in column if n is not None] for column in (ours, theirs))
            assert given == pytest.approx(wanted, rel=1e-15)
        else:
            assert ours == theirs


@given(st.lists(st.tuples(ODD, ODD, ODD, ODD, ODD_NAMES), min_size=1, max_size=4))
def test_odd_cells_are_read_as_they_are(nodes: list[Any]) -> None:
    with closing(database_of(nodes)) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        expected = by_column(rows_of(connection, 1))
        found = read_cells(connection.cursor(), 1)
        assert [len(column) for column in found] == [len(nodes)] * len(expected)
        assert told(found)[0] == told(expected)[0]
        assert [str(name) for name in found[-1]] == [str(name) for name in expected[-1]]


def test_graph_that_claims_more_nodes_than_it_has_ends() -> None:
    with closing(database_of([(0, None, None, None, "root")])) as connection:
        connection.execute("UPDATE node SET last = 1 << 60")
        assert told(read_cells(connection.cursor(), 1))[-1] == ["root"]
