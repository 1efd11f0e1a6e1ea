"""The tables as SQLAlchemy objects, for whoever queries; made from what `tables` specifies."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Float, Integer, MetaData, Table, Text
from sqlalchemy.types import TypeEngine

from builder.database.tables import INDEXES, SCHEMA_VERSION, TABLES, TableSpec

__all__ = [
    "INDEXES",
    "SCHEMA_VERSION",
    "communication",
    "finding",
    "graph",
    "meta",
    "metadata",
    "node",
    "stack",
    "value",
]

metadata = MetaData()

_TYPES: dict[str, type[TypeEngine[Any]]] = {"TEXT": Text, "INTEGER": Integer, "REAL": Float}


def _table(spec: TableSpec) -> Table:
    columns = []
    for line in spec.lines:
        name, kind, *rest = line.split()
        options = " ".join(rest)
        default = options.partition("DEFAULT ")[2]
        columns.append(
            Column(
                name,
                _TYPES[kind],
                primary_key="PRIMARY KEY" in options,
                nullable="NOT NULL" not in options,
                default=int(default) if default else None,
            )
        )
    return Table(spec.name, metadata, *columns)


meta, graph, node, value, stack, communication, finding = map(_table, TABLES)
