"""The volumes beside an index: which of them has an id, and whether it is there.

An index may come from anywhere, so a volume is opened only beside it, by a plain name, and only
where it says itself that it is the unit that the index names. SQLAlchemy is not needed here.
"""

from __future__ import annotations

import os
import sqlite3
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from builder.errors import DatabaseError
from builder.results.opening import check_length, connect
from builder.write.result_writer import volumes_of
from builder.write.tables import IDS, TOKEN_CELL, TOKEN_LINE, VOLUME, WEIGHT

_AGAIN = "copy it beside the index, or join again"
_YOUNGER = {WEIGHT.name, TOKEN_CELL.name, TOKEN_LINE.name}  # than the first volumes


@dataclass(frozen=True, slots=True)
class Volume:
    """One file of a result; `first` is the least id that a row of it can have."""

    first: int
    plan: str
    unit: str
    path: Path

    @property
    def missing(self) -> str | None:
        """What to say where the file is not there."""
        return None if self.path.is_file() else f"{self.path}: no such file; {_AGAIN}"


class Volumes:
    """The volumes of a result file; none where it holds everything itself."""

    def __init__(self, index: Path) -> None:
        self._index = index

    @cached_property
    def listed(self) -> Sequence[Volume]:
        """All of them by their ids."""
        with closing(connect(self._index)) as connection:
            if not _has_table(connection, "main", VOLUME.name):
                return ()
            rows = connection.execute("SELECT first, plan, unit, file FROM volume ORDER BY first")
            return [Volume(row[0], row[1], row[2], self._path(row[3])) for row in rows]

    @cached_property
    def _firsts(self) -> list[int]:
        return [volume.first for volume in self.listed]

    def of(self, id_: int) -> Volume | None:
        """The volume that has an id, None where it is the index's own."""
        place = bisect_right(self._firsts, id_)
        return self.listed[place - 1] if place else None

    def ranges(self) -> Iterator[tuple[Volume, int, int]]:
        """Every volume with the least and the largest id that it can have."""
        ends = [*self._firsts[1:], 2**63]
        for volume, end in zip(self.listed, ends):
            yield volume, volume.first, end - 1

    def _path(self, name: object) -> Path:
        if not isinstance(name, str) or name != os.path.basename(name) or name in ("", ".", ".."):  # noqa: PTH119 - a text of a file, no path
            raise DatabaseError(f"{self._index}: {name!r} is no name of a volume", "join again")
        return volumes_of(self._index) / name


def each_connection(index: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a result file, or one for each of its volumes that is there, in turn."""
    volumes = Volumes(index).listed
    if not volumes:
        with closing(connect(index)) as connection:
            yield connection
    for volume in volumes:
        if volume.missing is None:
            with closing(connect_volume(index, volume)) as connection:
                yield connection


def connect_volume(index: Path, volume: Volume) -> sqlite3.Connection:
    """A connection to an index that sees the nodes and values of a volume in place of its own.

    Raises DatabaseError where the volume is missing, cut short or another one.
    """
    if volume.missing is not None:
        raise DatabaseError(f"{volume.path}: no such file", _AGAIN)
    try:
        return connect(index, lambda connection: _look_into(connection, volume))
    except sqlite3.Error as error:
        raise DatabaseError(f"{volume.path}: is damaged ({error})", _AGAIN) from None


def _look_into(connection: sqlite3.Connection, volume: Volume) -> None:
    address = f"{volume.path.absolute().as_uri()}?mode=ro&immutable=1"
    connection.execute("ATTACH DATABASE ? AS volume", (address,))
    check_length(volume.path, connection, "volume")
    named = ["part", *(name for name in IDS if name != "graph")]
    there = [name for name in named if _has_table(connection, "volume", name)]
    # Files of earlier releases lack the weights and tokens, and have all else.
    if set(named) - _YOUNGER - set(there):
        raise DatabaseError(f"{volume.path}: has not the tables of a volume", _AGAIN)
    label = connection.execute("SELECT plan, unit FROM volume.part").fetchone()
    if label != (volume.plan, volume.unit):
        raise DatabaseError(f"{volume.path}: is another volume, {label}", _AGAIN)
    for name in there[1:]:
        # A temporary view hides the index's own table of this name.
        connection.execute(f'CREATE TEMP VIEW "{name}" AS SELECT * FROM volume."{name}"')


def _has_table(connection: sqlite3.Connection, schema: str, name: str) -> bool:
    query = f"SELECT count(*) FROM {schema}.sqlite_master WHERE type = 'table' AND name = ?"
    return bool(connection.execute(query, (name,)).fetchone()[0])
