"""Writes a result database: under a temporary name until complete, then renamed.

Several processes may add graphs to the same file; SQLite's own lock orders them, and it falls
with a process that is killed.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from builder.errors import OutputError
from builder.storage.path_text import path_text
from builder.write.tables import IDS, INDEXES, TABLES, VIEW
from msprobe_core.format.whole_file import put_in_place

SUFFIX = ".vis.db"
_PARTIAL = ".partial"
_VOLUMES = ".volumes"
# Keys of `meta` while the file is being made.
_NEXT_ID = "next id of "
_LOCK_WAIT_SECONDS = 600.0
Row = tuple[Any, ...]


class Database:
    """A result database while it is being made; each process opens its own on the same path."""

    def __init__(self, final: Path) -> None:
        self.final = final
        self.partial = final.with_name(final.name + _PARTIAL)
        self._connection = sqlite3.connect(
            self.partial, timeout=_LOCK_WAIT_SECONDS, isolation_level=None
        )
        # A process that dies leaves a journal that the next one rolls back; a machine that dies
        # leaves a file under its temporary name, which nobody opens.
        self._connection.execute("PRAGMA synchronous=OFF")

    @classmethod
    def create(cls, folder: Path, stem: str) -> Database:
        """Reserve a name in a folder and lay out the tables; raises OutputError if it cannot."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            database = cls(_reserve(folder, stem))
        except (NotADirectoryError, FileExistsError) as error:
            raise OutputError(f"{folder}: a file is in the way", "choose another -o") from error
        except OSError as error:
            raise OutputError(
                f"{folder}: cannot be written ({error.strerror})", "choose another -o"
            ) from error
        try:
            with database.transaction() as connection:
                for table in TABLES:
                    connection.execute(table.ddl)
                connection.execute(VIEW)
        except sqlite3.OperationalError as error:
            database.discard()
            raise OutputError(
                f"{folder}: cannot be written ({error})", "free space or choose another -o"
            ) from error
        except BaseException:  # raised again; nothing half written stays
            database.discard()
            raise
        return database

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The connection inside a write transaction that ends with the block."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:  # raised again
            # A full disk has ended the transaction already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def number_above(self, base: int) -> None:
        """Let all ids of a file that is still empty begin above a number."""
        tables = sorted({owner for columns in IDS.values() for owner in columns.values()})
        with self.transaction() as connection:
            rows = [(_NEXT_ID + table, str(base + 1)) for table in tables]
            connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)

    def reserve(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Set ids aside; returns the first of each table. Ids that stay unused are gaps."""
        first = {}
        with self.transaction() as connection:
            for table, count in counts.items():
                key = _NEXT_ID + table
                row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
                first[table] = int(row[0]) if row is not None else 1
                row = (key, str(first[table] + count))
                connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", row)
        return first

    @contextmanager
    def attached(self, other: Path) -> Iterator[sqlite3.Connection]:
        """The connection inside a write transaction, with another file as `part` beside it."""
        self._connection.execute("ATTACH DATABASE ? AS part", (os.fspath(other),))
        try:
            with self.transaction() as connection:
                yield connection
        finally:
            self._connection.execute("DETACH DATABASE part")

    def add_indexes(self) -> None:
        """Create the indexes once all nodes and values are in; it can be read as it will be."""
        with self.transaction() as connection:
            for index in INDEXES:
                connection.execute(index)

    def finish(self) -> Path:
        """Close the file and give it its final name."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM meta WHERE key LIKE ?", (f"{_NEXT_ID}%",))
        self._connection.close()
        return put_in_place(self.partial, self.final)

    def close(self) -> None:
        """Let go of the file; what was committed stays."""
        self._connection.close()

    def discard(self) -> None:
        """Close and remove the unfinished file and the volumes beside it."""
        self._connection.close()
        for path in (self.partial, self.partial.with_name(self.partial.name + "-journal")):
            path.unlink(missing_ok=True)
        shutil.rmtree(volumes_of(self.final), ignore_errors=True)


def volumes_of(index: Path) -> Path:
    """The folder of an index's volumes, which lies beside it."""
    name = index.name.removesuffix(_PARTIAL).removesuffix(SUFFIX)
    return index.with_name(name + _VOLUMES)


def reserved_ids(connection: sqlite3.Connection) -> dict[str, int]:
    """How many ids of each table were set aside in a file that is being made."""
    rows = connection.execute("SELECT key, value FROM meta WHERE key LIKE ?", (f"{_NEXT_ID}%",))
    return {key.removeprefix(_NEXT_ID): int(value) - 1 for key, value in rows}


def insert_rows(
    connection: sqlite3.Connection, table: str, columns: Sequence[str], rows: Iterable[Row]
) -> None:
    """Add rows to a table; paths among the cells may be no text."""
    names = ", ".join(f'"{column}"' for column in columns)
    marks = ", ".join("?" * len(columns))
    connection.executemany(
        f'INSERT INTO "{table}" ({names}) VALUES ({marks})', map(_storable, rows)
    )


def _storable(row: Row) -> Row:
    return tuple(path_text(cell) if type(cell) is str else cell for cell in row)


def insert_columns(
    connection: sqlite3.Connection,
    table: str,
    full: Mapping[str, Sequence[str | float]],
    sparse: Mapping[str, Sequence[str | bytes | int | None]],
) -> None:
    """Add rows given column by column; NaN in a full column, None or -1 in a sparse one is NULL."""
    names, marks = list(full), ["?"] * len(full)
    cells: list[Sequence[str | bytes | float | None]] = list(full.values())
    for name, column in sparse.items():
        absent = column.count(None)
        if absent < len(column):
            # The driver binds None ten times as slowly as a number: it looks for an adapter first.
            cells.append([-1 if c is None else c for c in column] if absent else column)
            names.append(name)
            marks.append("nullif(?, -1)")
    columns = ", ".join(f'"{name}"' for name in names)
    statement = f'INSERT INTO "{table}" ({columns}) VALUES ({", ".join(marks)})'
    connection.executemany(statement, zip(*cells, strict=True))


def insert_record(connection: sqlite3.Connection, table: str, record: Mapping[str, object]) -> None:
    """Add one row given by column name."""
    insert_rows(connection, table, list(record), [tuple(record.values())])


def write_meta(connection: sqlite3.Connection, facts: Mapping[str, object]) -> None:
    """Store facts about the whole file; what is not text is stored as JSON."""
    rows = [
        (key, fact if isinstance(fact, str) else json.dumps(fact, ensure_ascii=False))
        for key, fact in facts.items()
    ]
    insert_rows(connection, "meta", ("key", "value"), rows)


def _reserve(folder: Path, stem: str) -> Path:
    stamp = datetime.now().astimezone().strftime("%Y%m%d%H%M%S")
    number = 1
    while True:
        tail = "" if number == 1 else f"_{number}"
        final = folder / f"{stem}_{stamp}{tail}{SUFFIX}"
        number += 1
        if final.exists():
            continue
        try:
            partial = final.with_name(final.name + _PARTIAL)
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            continue
        if final.exists():  # another build ended between the two looks
            partial.unlink(missing_ok=True)
            continue
        return final
