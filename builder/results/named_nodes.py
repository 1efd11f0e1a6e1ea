"""Nodes of a result file by their full names."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from builder.errors import DatabaseError, UnknownNodeError
from builder.results.opening import format_of
from builder.results.volumes import each_connection

_SHOWN = 5  # names that contain what was asked for


def node_named(path: Path, name: str, step: int | None = None, rank: int | None = None) -> int:
    """The id of a node by its name, in the first step and rank that has it.

    Raises DatabaseError for a file that cannot be read and UnknownNodeError for a name that the
    step and rank does not have.
    """
    if not path.is_file():
        raise DatabaseError(f"{path}: no such file", "`msprobe graph_visualize` makes one")
    if format_of(path) == "msprobe":
        return _named_by_msprobe(path, name, step, rank)
    alike: dict[str, None] = {}
    try:
        for connection in each_connection(path):
            node = _find(connection, name, step, rank)
            if node is not None:
                return node
            alike |= dict.fromkeys(_names_like(connection, name))
    except sqlite3.Error as error:
        raise DatabaseError(f"{path}: is damaged ({error})", "build it again") from None
    raise UnknownNodeError(f"{name}: no node of that name", _what_instead(alike))


def _named_by_msprobe(path: Path, name: str, step: int | None, rank: int | None) -> int:
    """The same in a file of msprobe's own builder."""
    from sqlalchemy.exc import SQLAlchemyError

    from builder.results.msprobe.queries import MsprobeDatabase

    try:
        with closing(MsprobeDatabase(path)) as database:
            node = database.find(name, step, rank)
            if node is not None:
                return node
            alike = database.names_like(name, _SHOWN + 1)
    except SQLAlchemyError as error:
        raise DatabaseError(f"{path}: is damaged ({error})", "copy it again") from None
    raise UnknownNodeError(f"{name}: no node of that name", _what_instead(alike))


def _find(
    connection: sqlite3.Connection, name: str, step: int | None, rank: int | None
) -> int | None:
    query = (
        "SELECT node.id FROM node JOIN graph ON graph.id = node.graph "
        "WHERE node.name = ? AND (? IS NULL OR graph.step = ?) AND (? IS NULL OR graph.rank = ?) "
        "ORDER BY graph.side = 'benchmark', graph.step, graph.rank, node.id LIMIT 1"
    )
    row = connection.execute(query, (name, step, step, rank, rank)).fetchone()
    return None if row is None else int(row[0])


def _names_like(connection: sqlite3.Connection, text: str) -> list[str]:
    """Names that contain what was asked for, one more of them than are shown."""
    query = (
        "SELECT name FROM node WHERE instr(lower(name), lower(?)) "
        "GROUP BY name ORDER BY min(id) LIMIT ?"
    )
    return [name for (name,) in connection.execute(query, (text, _SHOWN + 1))]


def _what_instead(names: Collection[str]) -> str:
    """What to take instead of a name that no node has."""
    if not names:
        return "take a full name, as `msprobe diagnose` prints it"
    more = ", …" if len(names) > _SHOWN else ""
    return f"take a full name: {', '.join(list(names)[:_SHOWN])}{more}"
