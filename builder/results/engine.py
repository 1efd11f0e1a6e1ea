"""A SQLAlchemy engine over a result file, for everything that queries more than the diagnosis."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import cast

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool

from builder.results.opening import connect, limit_time
from builder.results.volumes import Volume, connect_volume

_CONNECTIONS = 8


def open_engine(path: Path, volume: Volume | None = None) -> Engine:
    """An engine over a file that nobody changes while it is open; its pool serves all threads.

    With a volume its nodes and values are seen. Nothing is read yet: `format_of` tells whether the
    file can be used.
    """
    engine = create_engine(
        "sqlite://",
        creator=lambda: connect(path) if volume is None else connect_volume(path, volume),
        poolclass=QueuePool,
        pool_size=_CONNECTIONS,
        max_overflow=-1,
    )
    # Anew for each statement: what is done between them, or waits for a busy machine, takes no
    # time of the file's.
    event.listen(engine, "checkout", lambda connection, *_: limit_time(connection))
    event.listen(
        engine, "before_cursor_execute", lambda _, cursor, *rest: limit_time(cursor.connection)
    )
    return engine


def driver_of(connection: Connection) -> sqlite3.Connection:
    """The driver's own connection, whose cursors read text and numbers instead of records."""
    return cast("sqlite3.Connection", connection.connection.driver_connection)
