"""Opens a finished result database for reading: unchangeable, confined, and only if it is one.

A file may come from anywhere, so nothing in it is trusted: no view, no trigger, no endless query.
Only sqlite3 is needed here; `engine` adds SQLAlchemy, which takes longer to load than to read a
diagnosis.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Literal

from builder.errors import DatabaseError
from builder.write.tables import LATER, LATER_TABLES, SCHEMA_VERSION, TABLES, TableSpec

Format = Literal["own", "msprobe"]
# A row above this is no node and no value that anybody wants to look at.
_LONGEST_ROW = 4_000_000
_LONGEST_USE_SECONDS = 10.0
_GIVEN_UP = "interrupted"  # what SQLite says where its progress handler ended a statement
_PROGRESS_STEPS = 100_000
_MSPROBE_COLUMNS = {
    "tb_nodes": "node_order node_name node_type up_node precision_index overflow_level "
    "micro_step_id matched_node_link stack_id input_data output_data data_source step rank",
    "tb_config": "graph_type task micro_steps overflow_check",
    "tb_stack": "id stack_info",
}


def format_of(path: Path) -> Format:
    """Whose format a file has.

    Raises DatabaseError when it is no result database, was cut short, or is of another version.
    """
    try:
        with closing(connect(path)) as connection:
            return _identify(path, connection)
    except sqlite3.OperationalError as error:
        raise DatabaseError(
            f"{path}: cannot be opened ({error})", "check its permissions"
        ) from None
    except sqlite3.Error as error:
        raise DatabaseError(
            f"{path}: is damaged or no database ({error})", "copy or build it again"
        ) from None


def runs_of(path: Path) -> tuple[str | None, str | None]:
    """The folders of both runs that a file compares, as far as it tells them.

    Raises DatabaseError as `format_of` does.
    """
    if format_of(path) == "msprobe":
        return None, None
    try:
        with closing(connect(path)) as connection:
            rows = connection.execute(
                "SELECT key, value FROM meta WHERE key IN ('problem', 'benchmark')"
            ).fetchall()
    except sqlite3.Error as error:
        raise DatabaseError(f"{path}: cannot be read ({error})", "build it again") from None
    known = dict(rows)
    return known.get("problem"), known.get("benchmark")


def _identify(path: Path, connection: sqlite3.Connection) -> Format:
    tables = _tables(connection)
    wanted = {table.name: _required(table) for table in TABLES if table not in LATER_TABLES}
    if _holds(tables, wanted):
        _check_version(path, connection)
        check_length(path, connection)
        return "own"
    if _holds(tables, {name: tuple(c.split()) for name, c in _MSPROBE_COLUMNS.items()}):
        return "msprobe"
    raise DatabaseError(
        f"{path}: has not the tables of a result database",
        "build one with `msprobe graph_visualize`",
    )


def _required(table: TableSpec) -> tuple[str, ...]:
    later = LATER.get(table.name, ())
    return tuple(column for column in table.columns if column not in later)


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
            f"{path}: has schema version {version}, this tool reads {SCHEMA_VERSION}",
            "build it again",
        )


def check_length(path: Path, connection: sqlite3.Connection, schema: str = "main") -> None:
    """A file that was copied only in part still opens; its header knows how long it should be.

    Raises DatabaseError for one that is cut short.
    """
    pages = int(connection.execute(f"PRAGMA {schema}.page_count").fetchone()[0])
    size = int(connection.execute(f"PRAGMA {schema}.page_size").fetchone()[0])
    if path.stat().st_size < pages * size:
        raise DatabaseError(f"{path}: is cut short", "copy or build it again")


def connect(
    path: Path, more: Callable[[sqlite3.Connection], None] | None = None
) -> sqlite3.Connection:
    """A connection that can neither change the file nor be led astray by what is in it.

    `more` prepares it further before it is closed to any change; it may raise.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
    )
    if sys.version_info >= (3, 11):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_ROW)
    # Text that is no UTF-8 is shown with marks in it; a partial is called without a Python frame.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    limit_time(connection)
    try:
        _complete(connection)
        if more is not None:
            more(connection)
    except BaseException:  # raised again; no connection stays open
        connection.close()
        raise
    # No memory map: a file that shrinks under one kills the process.
    for pragma in ("query_only = ON", "trusted_schema = OFF", "cache_size = -8000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _complete(connection: sqlite3.Connection) -> None:
    """Let an older file look as if it had the columns that came later, with nothing in them."""
    connection.execute("PRAGMA temp_store = MEMORY")
    for table, later in LATER.items():
        names = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        own = {name for (name,) in names}
        missing = [f'NULL AS "{column}"' for column in later if column not in own]
        if own and missing:
            # A temporary view hides the table of the same name from everybody but itself.
            seen = ", ".join(["*", *missing])
            connection.execute(f'CREATE TEMP VIEW "{table}" AS SELECT {seen} FROM main."{table}"')


def limit_time(connection: sqlite3.Connection) -> None:
    """Let a connection's queries run for some seconds from now."""
    deadline = time.monotonic() + _LONGEST_USE_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _PROGRESS_STEPS)


def ran_too_long(error: BaseException | None) -> bool:
    """Whether a statement failed because its time was over, and not because of the file."""
    return isinstance(error, sqlite3.OperationalError) and str(error) == _GIVEN_UP
