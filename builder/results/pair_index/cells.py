"""Reads the nodes of one graph column by column, each as one text that SQLite puts together.

Numbers keep 15 digits at least, which is all that SQLite promises of its texts.

SQLite works without Python's lock: other requests go on while it does, and two hundred thousand
nodes need no tuple each. A file made by hand may hold cells that fit no such text; then they are
read row by row, whatever they are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec
import numpy as np

from builder.results.opening import limit_time
from builder.results.pair_index.columns import SQL_CELLS

Cells: TypeAlias = list[Sequence[Any]]
"""As SQL_CELLS says, then the names."""

# Names of this many nodes stay below the longest row that is read.
_CHUNK = 16_384
_MOST_NODES = 20_000_000
_integers = msgspec.json.Decoder(list[int]).decode
_numbers = msgspec.json.Decoder(list[float | None]).decode
_NUMBER_CELLS = frozenset({"score", "input_score", "introduced"})
# A word that is no JSON sends a cell of another type to the slow way.
_NUMBER = (
    "group_concat(CASE typeof({0}) WHEN 'real' THEN printf('%!.17g', {0}) WHEN 'integer' THEN {0} "
    "WHEN 'null' THEN 'null' ELSE '?' END)"
)
_INTEGER = "group_concat({0})"
# The range of ids, for there is no need of an index where the rows of a graph stand together.
_OF_GRAPH = "FROM node WHERE +graph = ? AND id BETWEEN ? AND ?"


class _OddCellsError(ValueError):
    """Cells that are not what the builder writes."""


def read_cells(
    cursor: sqlite3.Cursor, graph: int | None, wanted: Sequence[str] = SQL_CELLS
) -> Cells:
    """The cells of all nodes of a graph by id, then their names; none without a graph."""
    row = cursor.execute(
        "SELECT node.id, node.last FROM graph JOIN node ON node.id = root WHERE graph.id = ?",
        (graph,),
    ).fetchone()
    if row is None:
        return _empty(wanted)
    try:
        return _gathered(cursor, graph, wanted, *row)
    except (ValueError, TypeError, sqlite3.Error):
        limit_time(cursor.connection)
        names = ", ".join((*wanted, "name"))
        rows = cursor.execute(f"SELECT {names} {_OF_GRAPH} ORDER BY id", (graph, *row)).fetchall()
        return by_column(rows, wanted)


def by_column(rows: Sequence[Sequence[Any]], wanted: Sequence[str] = SQL_CELLS) -> Cells:
    """Rows with the wanted cells and the name, turned round."""
    return list(zip(*rows)) if rows else _empty(wanted)


def _empty(wanted: Sequence[str]) -> list[Any]:
    return [[] for _ in (*wanted, "name")]


def _gathering(wanted: Sequence[str]) -> str:
    texts = [(_NUMBER if cell in _NUMBER_CELLS else _INTEGER).format(cell) for cell in wanted]
    return ", ".join(["count(*)", *texts, "group_concat(name, char(10))"])


def _gathered(
    cursor: sqlite3.Cursor, graph: int | None, wanted: Sequence[str], first: int, last: int
) -> Cells:
    if last - first > _MOST_NODES:
        raise _OddCellsError
    cells: list[list[Any]] = _empty(wanted)
    decoders: list[Callable[[str], list[Any]]] = [
        _numbers if cell in _NUMBER_CELLS else _integers for cell in wanted
    ]
    gathering = _gathering(wanted)
    for start in range(first, last + 1, _CHUNK):
        # Each window is a query of its own; a million nodes may take as long as they take.
        limit_time(cursor.connection)
        window = (graph, start, min(start + _CHUNK - 1, last))
        row = cursor.execute(f"SELECT {gathering} {_OF_GRAPH}", window).fetchone()
        count, *texts, names = row
        if not count:
            continue
        columns: list[list[Any]] = [
            decode(f"[{text}]") for decode, text in zip(decoders, texts, strict=True)
        ]
        columns.append(str(names).split("\n"))
        if any(len(column) != count for column in columns):
            raise _OddCellsError
        for known, column in zip(cells, columns, strict=True):
            known.extend(column)
    # That SQLite puts rows together in the order in which it reads them is custom, no promise.
    if (np.diff(cells[0]) <= 0).any():
        raise _OddCellsError
    return list(cells)
