"""One column of the table of nodes, by the ids of nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, select

from builder.results.schema import node
from builder.results.stored_file import StoredFile


def cells_by_id(
    stored: StoredFile, column: ColumnElement[Any], ids: Iterable[int]
) -> dict[int, Any]:
    """What nodes have in a column; unknown nodes and empty cells are left out."""
    cells: dict[int, Any] = {}
    for engine, part in stored.in_parts(ids):
        query = select(node.c.id, column).where(node.c.id.in_(part), column.is_not(None))
        with engine.connect() as connection:
            cells |= {row[0]: row[1] for row in connection.execute(query)}
    return cells
