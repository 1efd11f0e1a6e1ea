"""Reads the nodes of a pair whole, and what fed what: lists, searches and rows ask it once.

The driver's own cursor reads text and numbers, not records: a pair may have a million nodes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import cast

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
    with _cursor(engine) as cursor:
        return [
            read_flow(cursor, int(side.id.min()), int(side.id.max())) if len(side) else NO_FLOW
            for side in sides
        ]


def read_passages(engine: Engine, sides: Sequence[SideNodes]) -> list[PassageIds]:
    """What flowed through calls without values among the nodes of each side."""
    with _cursor(engine) as cursor:
        return [
            read_passage_cells(cursor, int(side.id.min()), int(side.id.max()))
            if len(side)
            else NO_PASSAGES
            for side in sides
        ]


@contextmanager
def _cursor(engine: Engine) -> Iterator[sqlite3.Cursor]:
    with engine.connect() as connection:
        cursor = cast("sqlite3.Cursor", connection.connection.cursor())
        with closing(cursor):
            yield cursor
