"""What a query finds in the database that a build wrote."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from builder import BuildResult


def rows(result: BuildResult, query: str, *arguments: object) -> list[tuple[object, ...]]:
    """The rows of a query, in a connection of its own."""
    with closing(sqlite3.connect(result.path)) as connection:
        return connection.execute(query, arguments).fetchall()
