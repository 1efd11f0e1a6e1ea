"""Reads the flow of one side column by column, each as one text that SQLite puts together."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from builder.results.node_words import NOTHING, Bools, Ints
from builder.results.opening import limit_time

FlowIds: TypeAlias = tuple[Ints, Ints, Bools]
"""The ids of producers and consumers, and whether the dump says so."""

PassageIds: TypeAlias = tuple[Ints, Ints, Ints, Ints, Ints]
"""The ids of producers and consumers, how it is known (2: the dump says so, 1: numbers tell it, 0:
shape and order), of whom an edge to the same consumer is needless, and the id of the value that was
read; NOTHING where there is none.
"""
SAID = 2

NO_FLOW: FlowIds = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool))
_NONE = np.zeros(0, np.int64)
NO_PASSAGES: PassageIds = (_NONE, _NONE, _NONE, _NONE, _NONE)
# Edges of this many nodes stay below the longest row that is read.
_CHUNK = 8_192
_MOST_NODES = 20_000_000
_integers = msgspec.json.Decoder(list[int]).decode
_FLOW = ("flow", ("producer", "consumer", "exact"))
_PASSAGE = (
    "passage",
    (
        "producer",
        "consumer",
        "told",
        f"coalesce(instead, {NOTHING})",
        f"coalesce(value, {NOTHING})",
    ),
)


def read_flow(cursor: sqlite3.Cursor, first: int, last: int) -> FlowIds:
    """The edges that end in nodes between two ids; cells that are no integers end them all."""
    columns = _read(cursor, *_FLOW, first, last)
    if columns is None:
        return NO_FLOW
    producer, consumer, exact = columns
    return producer, consumer, exact > 0


def read_passage_cells(cursor: sqlite3.Cursor, first: int, last: int) -> PassageIds:
    """The passages that end in nodes between two ids; cells that are no integers end them all."""
    columns = _read(cursor, *_PASSAGE, first, last)
    if columns is None:
        return NO_PASSAGES
    producer, consumer, told, instead, value = columns
    return producer, consumer, told, instead, value


def _read(
    cursor: sqlite3.Cursor, table: str, names: Sequence[str], first: int, last: int
) -> list[Ints] | None:
    gathered = f"SELECT {', '.join(f'group_concat({name})' for name in names)} FROM {table}"
    columns: list[list[int]] = [[] for _ in names]
    for start in range(first, min(last, first + _MOST_NODES) + 1, _CHUNK):
        limit_time(cursor.connection)
        window = (start, min(start + _CHUNK - 1, last))
        texts = cursor.execute(f"{gathered} WHERE consumer BETWEEN ? AND ?", window).fetchone()
        try:
            cells = [_integers(f"[{text}]") for text in texts if text is not None]
        except msgspec.DecodeError:
            return None
        if len({len(column) for column in cells}) == 1 and len(cells) == len(columns):
            for known, column in zip(columns, cells, strict=True):
                known.extend(column)
    return [np.array(column, dtype=np.int64) for column in columns]
