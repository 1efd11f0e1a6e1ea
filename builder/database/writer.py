"""Writes a result database: under a temporary name until complete, then renamed.

Several processes may add graphs to the same file; SQLite's own lock orders them, and it falls
with a process that is killed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, select
from sqlalchemy.sql import func

from builder.database import schema
from builder.errors import OutputError

SUFFIX = ".vis.db"
_PARTIAL = ".partial"
Row = tuple[Any, ...]


class Database:
    """A result database while it is being made."""

    def __init__(self, final: Path) -> None:
        self.final = final
        self.partial = final.with_name(final.name + _PARTIAL)
        self._engine = _engine(self.partial)

    @classmethod
    def create(cls, folder: Path, stem: str) -> Database:
        """Reserve a name in a folder and lay out the tables; raises OutputError if it cannot."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            database = cls(_reserve(folder, stem))
        except NotADirectoryError as error:
            raise OutputError(f"{folder}: is not a folder; choose another -o") from error
        except FileExistsError as error:
            raise OutputError(f"{folder}: is a file; choose another -o") from error
        except OSError as error:
            raise OutputError(f"{folder}: cannot be written ({error.strerror}); choose another -o") from error
        schema.metadata.create_all(database._engine, tables=schema.metadata.sorted_tables)
        with database.transaction() as connection:
            for index in schema.INDEXES:
                index.drop(connection)
        return database

    def transaction(self) -> Any:
        """A connection in a write transaction, as a context manager."""
        return self._engine.begin()

    def finish(self) -> Path:
        """Create the indexes, close the file and give it its final name."""
        with self.transaction() as connection:
            for index in schema.INDEXES:
                index.create(connection)
        self._engine.dispose()
        self.partial.rename(self.final)
        return self.final

    def discard(self) -> None:
        """Close and remove the unfinished file."""
        self._engine.dispose()
        for path in (self.partial, self.partial.with_name(self.partial.name + "-journal")):
            path.unlink(missing_ok=True)


def insert_rows(
    connection: Connection, table: str, columns: Sequence[str], rows: Iterable[Row]
) -> None:
    """Add many rows through the driver, ten times faster than statement objects."""
    names = ", ".join(f'"{column}"' for column in columns)
    marks = ", ".join("?" * len(columns))
    statement = f'INSERT INTO "{table}" ({names}) VALUES ({marks})'
    driver = connection.connection.cursor()
    driver.executemany(statement, rows)
    driver.close()


def next_id(connection: Connection, table: str) -> int:
    """The first free id of a table."""
    column = schema.metadata.tables[table].c.id
    highest = connection.execute(select(func.max(column))).scalar()
    return int(highest or 0) + 1


def write_meta(connection: Connection, values: Mapping[str, object]) -> None:
    """Store facts about the whole file; what is not text is stored as JSON."""
    rows = [
        {"key": key, "value": value if isinstance(value, str) else json.dumps(value)}
        for key, value in values.items()
    ]
    connection.execute(insert(schema.meta), rows)


def _reserve(folder: Path, stem: str) -> Path:
    stamp = datetime.now().astimezone().strftime("%Y%m%d%H%M%S")
    number = 1
    while True:
        tail = "" if number == 1 else f"_{number}"
        final = folder / f"{stem}_{stamp}{tail}{SUFFIX}"
        partial = final.with_name(final.name + _PARTIAL)
        number += 1
        if final.exists():
            continue
        try:
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            continue
        return final


def _engine(path: Path) -> Engine:
    engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": 600})

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: object) -> None:
        # A process that dies leaves a hot journal that the next one rolls back; a machine that
        # dies leaves a file under its temporary name, which nobody opens.
        connection.isolation_level = None
        connection.execute("PRAGMA synchronous=OFF")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
