"""How the joined values of a node lie over the ranks, and what each rank holds of them."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import msgspec
from sqlalchemy import Connection, Row, Table, select, text

from builder.results.database import ResultDatabase
from builder.results.reading import Results
from builder.results.records import Measure, Node, Role, Side
from builder.results.schema import layout, shard, value
from builder.results.value_measures import measure_of
from builder.results.value_pairs import shape_of
from msprobe_core.format.bounded import parse_json

Joined = Literal["R", "S", "P", "A", "D"]
Trust = Literal["exact", "told", "bounded", "assumed"]


class AxisLayout(msgspec.Struct, frozen=True):
    """How a value lies along one axis: repeated, cut along `dim`, parts of a sum or of a mean.

    D are parts of a sum of which each has elements of its own.
    """

    axis: str
    size: int
    kind: Joined
    dim: int | None


class Shard(msgspec.Struct, frozen=True):
    """What one rank holds of a value; `place` says where it stands on the axes of the value.

    `entry` is the node's name on this rank, `guilty` whether a difference comes from it.
    """

    rank: int
    place: dict[str, int]
    entry: str
    shape: list[int] | None
    max: Measure
    min: Measure
    mean: Measure
    norm: Measure
    checksum: str | None
    file: str | None
    dump_dir: str
    guilty: bool


class JoinedValue(msgspec.Struct, frozen=True):
    """A value that was joined from ranks; `shards` is empty where nothing about it differs.

    `trust` says whether its numbers are exact, joined as the user told, only bounds, or joined by
    an assumed layout.
    """

    id: int
    side: Side
    role: Role
    path: str
    trust: Trust | None
    layout: list[AxisLayout]
    shards: list[Shard]


class NodeShards(msgspec.Struct, frozen=True):
    """The joined values of a node and its partner, the problem's first; none without merging."""

    values: list[JoinedValue]


def node_shards(results: Results, id_: int) -> NodeShards:
    """What the ranks hold of the values of a node and its partner; none in files that lack it.

    Raises UnknownNodeError for a node that the file does not have.
    """
    own = results.node(id_)
    if not isinstance(results, ResultDatabase):
        return NodeShards([])
    partner = [] if own.match is None else results.nodes_by_id([own.match])
    nodes = sorted([own, *partner], key=lambda node: node.side, reverse=True)
    with results.stored.engine.connect() as connection:
        if not all(map(partial(_has, connection), (layout, shard))):
            return NodeShards([])
    with results.stored.engine_at(id_).connect() as connection:
        return NodeShards([joined for node in nodes for joined in _of_node(connection, node)])


def _has(connection: Connection, table: Table) -> bool:
    # Views are left out: a file that came from anywhere may hold any.
    query = text("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = :name")
    return bool(connection.execute(query, {"name": table.name}).scalar())


def holds_shards(results: Results) -> bool:
    """Whether a file knows of any value what its ranks hold of it."""
    if not isinstance(results, ResultDatabase):
        return False
    with results.stored.engine.connect() as connection:
        known = [one for one in (layout, shard) if _has(connection, one)]
        return any(connection.execute(select(one).limit(1)).first() for one in known)


def _of_node(connection: Connection, node: Node) -> list[JoinedValue]:
    columns = value.c.id, value.c.role, value.c.path
    query = select(*columns).where(value.c.node == node.id).order_by(value.c.id)
    values = list(connection.execute(query))
    if not values:
        return []
    ids = values[0].id, values[-1].id
    axes = _by_value(connection, layout, ids)
    shards = _by_value(connection, shard, ids)
    return [
        JoinedValue(
            id=row.id,
            side=node.side,
            role=row.role,
            path=row.path,
            trust=axes[row.id][0].trust if row.id in axes else None,
            layout=[AxisLayout(a.axis, a.size, a.kind, a.dim) for a in axes.get(row.id, ())],
            shards=[_shard(found) for found in shards.get(row.id, ())],
        )
        for row in values
        if row.id in axes or row.id in shards
    ]


def _by_value(
    connection: Connection, table: Table, ids: tuple[int, int]
) -> dict[int, list[Row[Any]]]:
    found: dict[int, list[Row[Any]]] = {}
    # The rows of a value stand in the order of its axes or ranks, as they were written.
    for row in connection.execute(select(table).where(table.c.value.between(*ids))):
        found.setdefault(row.value, []).append(row)
    return found


def _shard(row: Row[Any]) -> Shard:
    return Shard(
        rank=row.rank,
        place=_place(row.place),
        entry=row.entry,
        shape=shape_of(row.shape),
        max=measure_of(row.max),
        min=measure_of(row.min),
        mean=measure_of(row.mean),
        norm=measure_of(row.norm),
        checksum=row.checksum,
        file=row.file,
        dump_dir=row.dump_dir,
        guilty=bool(row.guilty),
    )


def _place(stored: str) -> dict[str, int]:
    try:
        return msgspec.convert(parse_json(stored), dict[str, int])
    except (ValueError, msgspec.MsgspecError):  # a file may come from anywhere
        return {}
