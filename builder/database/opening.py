"""Opens a finished result database for reading: unchangeable, confined, and only if it is one.

A file may come from anywhere, so nothing in it is trusted: no view, no trigger, no endless query.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Literal

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.pool import QueuePool

from builder.database.tables import SCHEMA_VERSION, TABLES
from builder.errors import InputError

Format = Literal["own", "msprobe"]
# A row above this is no node and no value that anybody wants to look at.
_LONGEST_ROW = 4_000_000
_LONGEST_USE_SECONDS = 10.0
_PROGRESS_STEPS = 100_000
_CONNECTIONS = 8
_MSPROBE_COLUMNS = {
    "tb_nodes": "node_order node_name node_type up_node precision_index overflow_level "
    "micro_step_id matched_node_link stack_id input_data output_data data_source step rank",
    "tb_config": "graph_type task micro_steps overflow_check",
    "tb_stack": "id stack_info",
}


class DatabaseError(InputError):
    """A file that is no result database, or one that cannot be read."""


def open_engine(path: Path) -> Engine:
    """An engine over a file that nobody changes while it is open; its pool serves all threads.

    Nothing is read yet: `format_of` tells whether the file can be used.
    """
    engine = create_engine(
        "sqlite://",
        creator=lambda: _connect(path),
        poolclass=QueuePool,
        pool_size=_CONNECTIONS,
        max_overflow=-1,
    )
    event.listen(engine, "checkout", lambda connection, *_: _limit_time(connection))
    return engine


def format_of(path: Path) -> Format:
    """Whose format a file has.

    Raises DatabaseError when it is no result database, was cut short, or is of another version.
    """
    try:
        with closing(_connect(path)) as connection:
            return _identify(path, connection)
    except sqlite3.OperationalError as error:
        raise DatabaseError(f"{path}: cannot be opened ({error}); check its permissions") from None
    except sqlite3.Error as error:
        raise DatabaseError(
            f"{path}: is damaged or no database ({error}); copy or build it again"
        ) from None


def _identify(path: Path, connection: sqlite3.Connection) -> Format:
    tables = _tables(connection)
    if _holds(tables, {table.name: table.columns for table in TABLES}):
        _check_version(path, connection)
        _check_length(path, connection)
        return "own"
    if _holds(tables, {name: tuple(c.split()) for name, c in _MSPROBE_COLUMNS.items()}):
        return "msprobe"
    raise DatabaseError(
        f"{path}: has not the tables of a result database; build one with `msprobe graph_visualize`"
    )


def _tables(connection: sqlite3.Connection) -> dict[str, set[str]]:
    # Views and virtual tables are left out: reading them would run what the file's maker wrote.
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    ).fetchall()
    columns = "SELECT name FROM pragma_table_info(?)"
    return {name: {row[0] for row in connection.execute(columns, (name,))} for (name,) in names}


def _holds(tables: dict[str, set[str]], wanted: dict[str, tuple[str, ...]]) -> bool:
    return all(set(columns) <= tables.get(name, set()) for name, columns in wanted.items())


def _check_version(path: Path, connection: sqlite3.Connection) -> None:
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    if row is None or row[0] != SCHEMA_VERSION:
        version = "none" if row is None else str(row[0])[:20]
        raise DatabaseError(
            f"{path}: has schema version {version}, this tool reads {SCHEMA_VERSION}; "
            "build it again"
        )


def _check_length(path: Path, connection: sqlite3.Connection) -> None:
    """A file that was copied only in part still opens; its header knows how long it should be."""
    pages = int(connection.execute("PRAGMA page_count").fetchone()[0])
    size = int(connection.execute("PRAGMA page_size").fetchone()[0])
    if path.stat().st_size < pages * size:
        raise DatabaseError(f"{path}: is cut short; copy or build it again")


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
    )
    if sys.version_info >= (3, 11):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_ROW)
    # Text that is no UTF-8 is shown with marks in it; a partial is called without a Python frame.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    _limit_time(connection)
    # No memory map: a file that shrinks under one kills the process.
    for pragma in ("query_only = ON", "trusted_schema = OFF", "cache_size = -8000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _limit_time(connection: sqlite3.Connection) -> None:
    deadline = time.monotonic() + _LONGEST_USE_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _PROGRESS_STEPS)
