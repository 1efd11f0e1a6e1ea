"""Reads the nodes of one graph column by column, each as one text that SQLite puts together.

Numbers keep 15 digits at least, which is all that SQLite promises of its texts.

SQLite works without Python's lock: other requests go on while it does, and two hundred thousand
nodes need no tuple each. A file made by hand may hold cells that fit no such text; then they are
read row by row, whatever they are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from builder.results.node_words import Floats, Ints
from builder.results.opening import limit_time
from builder.results.side_nodes import SIDE_CELLS, Cells

# Names of this many nodes stay below the longest row that is read.
_CHUNK = 16_384
_MOST_NODES = 20_000_000
_integers = msgspec.json.Decoder(list[int]).decode
_numbers = msgspec.json.Decoder(list[float | None]).decode
_NUMBER_CELLS = frozenset({"score", "input_score", "introduced"})
# A word that is no JSON sends a cell of another type to the slow way; zeros need no printing.
_NUMBER = (
    "group_concat(CASE WHEN {0} IS NULL THEN 'null' WHEN {0} = 0 THEN 0 "
    "WHEN typeof({0}) = 'real' THEN printf('%!.17g', {0}) "
    "WHEN typeof({0}) = 'integer' THEN {0} ELSE '?' END)"
)
_INTEGER = "group_concat({0})"
_GATHERED_CELLS = [(_NUMBER if c in _NUMBER_CELLS else _INTEGER).format(c) for c in SIDE_CELLS]
# The range of ids, for there is no need of an index where the rows of a graph stand together.
_OF_GRAPH = "FROM node WHERE +graph = ? AND id BETWEEN ? AND ?"
_GATHERED = (
    f"SELECT count(*), {', '.join(_GATHERED_CELLS)}, group_concat(name, char(10)) {_OF_GRAPH}"
)
_ROW = ", ".join((*SIDE_CELLS, "name"))


class _OddCellsError(ValueError):
    """Cells that are not what the builder writes."""


def read_cells(cursor: sqlite3.Cursor, graph: int | None) -> Cells:
    """The cells of all nodes of a graph by id, then their names; none without a graph."""
    row = cursor.execute(
        "SELECT node.id, node.last FROM graph JOIN node ON node.id = root WHERE graph.id = ?",
        (graph,),
    ).fetchone()
    if row is None:
        return by_column([])
    try:
        return _gathered(cursor, graph, *row)
    except (ValueError, TypeError, OverflowError, sqlite3.Error):
        limit_time(cursor.connection)
        rows = cursor.execute(f"SELECT {_ROW} {_OF_GRAPH} ORDER BY id", (graph, *row)).fetchall()
        return by_column(rows)


def by_column(rows: Sequence[Sequence[Any]]) -> Cells:
    """Rows of the cells and the name, turned round."""
    return list(zip(*rows)) if rows else [[] for _ in (*SIDE_CELLS, "name")]


def _gathered(cursor: sqlite3.Cursor, graph: int | None, first: int, last: int) -> Cells:
    if last - first > _MOST_NODES:
        raise _OddCellsError
    names: list[str] = []
    pieces: list[list[Ints | Floats]] = []
    for start in range(first, last + 1, _CHUNK):
        # Each window is a query of its own; a million nodes may take as long as they take.
        limit_time(cursor.connection)
        window = (graph, start, min(start + _CHUNK - 1, last))
        count, *texts, lines = cursor.execute(_GATHERED, window).fetchone()
        if not count:
            continue
        # Arrays at once: a list of millions, turned in one piece, would hold other threads up.
        pieces.append([_array(cell, text) for cell, text in zip(SIDE_CELLS, texts, strict=True)])
        names.extend(str(lines).split("\n"))
        if any(len(column) != count for column in pieces[-1]):
            raise _OddCellsError
    if not pieces:
        return by_column([])
    cells: Cells = [np.concatenate(column) for column in zip(*pieces, strict=True)]
    # That SQLite puts rows together in the order in which it reads them is custom, no promise.
    if len(names) != len(cells[0]) or (np.diff(cells[0]) <= 0).any():
        raise _OddCellsError
    return [*cells, names]


def _array(cell: str, text: str) -> Ints | Floats:
    if cell in _NUMBER_CELLS:
        return np.array(_numbers(f"[{text}]"), dtype=np.float64)
    return np.array(_integers(f"[{text}]"), dtype=np.int64)
