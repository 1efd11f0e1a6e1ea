"""A result as volumes: one file a unit with its nodes and values, beside an index that opens them.

The ids of a unit's rows are its own in the whole plan from the start, so nothing is numbered anew.
The index has the graphs and what all pairs together tell, and of the nodes those that it names.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from builder.work.outcome import PairOutcome
from builder.write.part import Label
from builder.write.result_writer import Database, insert_rows, volumes_of
from builder.write.tables import INDEXES, VOLUME
from msprobe_core.format.whole_file import put_in_place

_FILE = ".volume.db"


def add_volume(database: Database, part: Path, label: Label, outcome: PairOutcome) -> PairOutcome:
    """Make a volume of a part, and put into the index what it has to know of it.

    Raises sqlite3.Error when the part cannot be read.
    """
    folder = volumes_of(database.final)
    folder.mkdir(exist_ok=True)
    name = label.unit + _FILE
    copied = folder / f".{name}"
    shutil.copyfile(part, copied)
    _add_indexes(copied)
    put_in_place(copied, folder / name)
    named = json.dumps(sorted(_named(outcome)))
    with database.attached(part) as connection:
        connection.execute("INSERT INTO main.graph SELECT * FROM part.graph ORDER BY id")
        for statement in _INDEXED:
            connection.execute(statement, (named,))
        row = (label.base + 1, label.plan, label.unit, name)
        insert_rows(connection, "volume", VOLUME.columns, [row])
    return outcome


# The nodes that the index names, what stands around them, roots, and where they were called.
_WANTED = "SELECT value FROM json_each(?) UNION SELECT root FROM part.graph"
_INDEXED = (
    f"INSERT INTO main.node SELECT * FROM part.node WHERE id IN ({_WANTED} UNION SELECT parent "
    "FROM part.node WHERE id IN (SELECT value FROM json_each(?1)))",
    f"INSERT INTO main.stack SELECT * FROM part.stack WHERE id IN (SELECT stack FROM part.node "
    f"WHERE id IN ({_WANTED}))",
)


def _named(outcome: PairOutcome) -> Iterator[int]:
    yield from (finding.node for finding in outcome.findings)
    if outcome.late is not None:
        yield outcome.late.node
    yield from (message.node for side in outcome.messages for message in side)


def _add_indexes(volume: Path) -> None:
    connection = sqlite3.connect(os.fspath(volume), isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous=OFF")
        for index in INDEXES:
            connection.execute(index)
    finally:
        connection.close()
