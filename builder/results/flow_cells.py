"""Reads the flow of one side column by column, each as one text that SQLite puts together."""

from __future__ import annotations

import sqlite3
from typing import TypeAlias

import msgspec
import numpy as np

from builder.results.node_words import Bools, Ints
from builder.results.opening import limit_time

FlowIds: TypeAlias = tuple[Ints, Ints, Bools]
"""The ids of producers and consumers, and whether the dump says so."""

NO_FLOW: FlowIds = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool))
# Edges of this many nodes stay below the longest row that is read.
_CHUNK = 8_192
_MOST_NODES = 20_000_000
_integers = msgspec.json.Decoder(list[int]).decode
_COLUMNS = ("producer", "consumer", "exact")
_GATHERED = "SELECT " + ", ".join(f"group_concat({name})" for name in _COLUMNS) + " FROM flow"


def read_flow(cursor: sqlite3.Cursor, first: int, last: int) -> FlowIds:
    """The edges that end in nodes between two ids; cells that are no integers end them all."""
    columns: list[list[int]] = [[], [], []]
    for start in range(first, min(last, first + _MOST_NODES) + 1, _CHUNK):
        limit_time(cursor.connection)
        window = (start, min(start + _CHUNK - 1, last))
        texts = cursor.execute(f"{_GATHERED} WHERE consumer BETWEEN ? AND ?", window).fetchone()
        try:
            cells = [_integers(f"[{text}]") for text in texts if text is not None]
        except msgspec.DecodeError:
            return NO_FLOW
        if len({len(column) for column in cells}) == 1 and len(cells) == len(columns):
            for known, column in zip(columns, cells, strict=True):
                known.extend(column)
    producer, consumer, exact = (np.array(column, dtype=np.int64) for column in columns)
    return producer, consumer, exact > 0
