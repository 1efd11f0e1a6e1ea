"""The tables as SQLAlchemy objects, for whoever queries; made from what `tables` specifies."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Float, Integer, MetaData, Subquery, Table, Text, select
from sqlalchemy.types import NullType, TypeEngine

from builder.write.tables import INDEXES, SCHEMA_VERSION, TABLES, VALUE_COLUMNS, TableSpec

__all__ = [
    "INDEXES",
    "SCHEMA_VERSION",
    "communication",
    "finding",
    "flow",
    "form",
    "graph",
    "layout",
    "meta",
    "metadata",
    "node",
    "passage",
    "record",
    "shard",
    "stack",
    "token_cell",
    "token_line",
    "value",
    "weight",
]

metadata = MetaData()

_TYPES: dict[str, type[TypeEngine[Any]]] = {
    "TEXT": Text,
    "INTEGER": Integer,
    "REAL": Float,
    "BLOB": NullType,  # as it is stored: earlier files hold the digits
}


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


(
    meta,
    graph,
    node,
    form,
    record,
    stack,
    communication,
    finding,
    flow,
    passage,
    layout,
    shard,
    weight,
    token_cell,
    token_line,
) = (_table(spec) for spec in TABLES)


def _values() -> Subquery:
    # The view of the file says the same, but views of a file that came from anywhere are not run.
    tables = {"form": form, "record": record}
    columns = [tables[table].c[name] for name, table in VALUE_COLUMNS]
    last = node.c.first_value + node.c.value_count - 1
    joined = node.join(record, record.c.id.between(node.c.first_value, last))
    joined = joined.join(form, form.c.id == record.c.form)
    return select(node.c.id.label("node"), *columns).select_from(joined).subquery("value")


value = _values()
