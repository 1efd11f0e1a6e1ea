"""The rows of one pair in a file of its own, and how they get into the result of all pairs."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from builder.diagnosis.communication import Message
from builder.work.outcome import PairOutcome, StoredFinding, StoredSighting
from builder.write.result_writer import Database, reserved_ids
from builder.write.tables import IDS, TABLES, TableSpec

# Its one row says which unit of which plan the file holds; the outcome is msgpack.
# All ids in the file are above `base`.
_PART = (
    "CREATE TABLE part "
    "(plan TEXT NOT NULL, unit TEXT NOT NULL, outcome BLOB NOT NULL, base INTEGER NOT NULL)"
)


def label_part(database: Database, plan: str, unit: str, outcome: bytes, base: int) -> None:
    """Say in a file that is being made what it is a part of, and what its ids begin above."""
    with database.transaction() as connection:
        connection.execute(_PART)
        connection.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (plan, unit, outcome, base))


@dataclass(frozen=True, slots=True)
class Label:
    """What a part says of itself; `ids` are how many ids of each table its rows take."""

    plan: str
    unit: str
    outcome: bytes
    base: int
    ids: Mapping[str, int]


def read_label(part: Path) -> Label:
    """The label of a part; raises sqlite3.Error for a file that is none."""
    connection = sqlite3.connect(f"{part.absolute().as_uri()}?mode=ro", uri=True)
    try:
        label = "SELECT plan, unit, outcome, base FROM part"
        plan, unit, outcome, base = connection.execute(label).fetchone()
        ids = {table: last - base for table, last in reserved_ids(connection).items()}
        return Label(plan, unit, outcome, base, ids)
    finally:
        connection.close()


def rename_folders(database: Database, local: str, address: str) -> None:
    """Name the address of a dump where rows have the folder that it was brought to."""
    with database.transaction() as connection:
        for table, column in (("graph", "dump_dir"), ("graph", "error"), ("shard", "dump_dir")):
            connection.execute(
                f'UPDATE "{table}" SET "{column}" = replace("{column}", ?, ?)', (local, address)
            )


def add_part(database: Database, part: Path, label: Label, outcome: PairOutcome) -> PairOutcome:
    """Copy the rows of a part behind those that are there; returns its outcome with their ids.

    Raises sqlite3.Error when the part cannot be read.
    """
    firsts = database.reserve(label.ids)
    shift = {table: first - 1 - label.base for table, first in firsts.items()}
    with database.attached(part) as connection:
        for table in TABLES:
            if table.name in IDS:
                _copy(connection, table, shift)
    return _shifted(outcome, shift.get("graph", 0), shift.get("node", 0))


def _copy(connection: sqlite3.Connection, table: TableSpec, shift: Mapping[str, int]) -> None:
    owners = IDS[table.name]
    cells = [
        f'"{column}" + {shift.get(owners[column], 0)}' if column in owners else f'"{column}"'
        for column in table.columns
    ]
    names = ", ".join(f'"{column}"' for column in table.columns)
    connection.execute(
        f'INSERT INTO main."{table.name}" ({names}) SELECT {", ".join(cells)} '
        f'FROM part."{table.name}" ORDER BY rowid'
    )


def _shifted(outcome: PairOutcome, graph: int, node: int) -> PairOutcome:
    def finding(stored: StoredFinding) -> StoredFinding:
        return replace(stored, graph=stored.graph + graph, node=stored.node + node)

    def sighting(stored: StoredSighting) -> StoredSighting:
        return replace(stored, graph=stored.graph + graph, node=stored.node + node)

    def message(sent: Message) -> Message:
        return replace(sent, node=sent.node + node)

    return replace(
        outcome,
        findings=tuple(map(finding, outcome.findings)),
        sightings=tuple(map(sighting, outcome.sightings)),
        late=None if outcome.late is None else finding(outcome.late),
        graphs=tuple(number + graph for number in outcome.graphs),
        messages=tuple(tuple(map(message, side)) for side in outcome.messages),
        readers=tuple(replace(reader, node=reader.node + node) for reader in outcome.readers),
    )
