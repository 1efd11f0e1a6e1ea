"""Reads the nodes of a pair whole, and what fed what: lists, searches and rows ask it once.

The driver's own cursor reads text and numbers, not records: a pair may have a million nodes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TypeVar, cast

from sqlalchemy import Engine

from builder.results.flow_cells import (
    NO_FLOW,
    NO_PASSAGES,
    FlowIds,
    PassageIds,
    read_flow,
    read_passage_cells,
)
from builder.results.side_cells import read_cells
from builder.results.side_nodes import SideNodes, from_cells

_Cells = TypeVar("_Cells")


def read_sides(engine: Engine, graphs: Sequence[int | None]) -> list[SideNodes]:
    """The nodes of graphs, None for a side that there is not.

    Side by side: SQLite works without Python's lock.
    """

    def read(id_: int | None) -> SideNodes:
        with _cursor(engine) as cursor:
            return from_cells(read_cells(cursor, id_))

    with ThreadPoolExecutor(len(graphs)) as threads:
        return list(threads.map(read, graphs))


def read_flows(engine: Engine, sides: Sequence[SideNodes]) -> list[FlowIds]:
    """What fed what among the nodes of each side."""
    return _of_each(engine, sides, read_flow, NO_FLOW)


def read_passages(engine: Engine, sides: Sequence[SideNodes]) -> list[PassageIds]:
    """What flowed through calls without values among the nodes of each side."""
    return _of_each(engine, sides, read_passage_cells, NO_PASSAGES)


def _of_each(
    engine: Engine,
    sides: Sequence[SideNodes],
    read: Callable[[sqlite3.Cursor, int, int], _Cells],
    nothing: _Cells,
) -> list[_Cells]:
    """What is read between the ids of each side's nodes."""
    with _cursor(engine) as cursor:
        return [
            read(cursor, int(side.id.min()), int(side.id.max())) if len(side) else nothing
            for side in sides
        ]


@contextmanager
def _cursor(engine: Engine) -> Iterator[sqlite3.Cursor]:
    with engine.connect() as connection:
        cursor = cast("sqlite3.Cursor", connection.connection.cursor())
        with closing(cursor):
            yield cursor
