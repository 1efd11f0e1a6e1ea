"""Finds one node in all steps and ranks, by the names of what stands above it.

There is no index over names: walking down by children looks at a few hundred rows per graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import ColumnElement, Connection, Engine, and_, select

from builder.results.records import Node
from builder.results.schema import graph, node

_CHUNK = 900


def find_everywhere(
    files: Iterable[tuple[Engine, tuple[int, int]]], path: Sequence[Node]
) -> dict[tuple[int, int], int]:
    """The ids of the nodes with the same names from the root down, by step and rank.

    `files` are engines with the range of the ids that each sees.
    """
    places: dict[tuple[int, int], int] = {}
    for engine, ids in files:
        with engine.connect() as connection:
            places |= _find_in(connection, path, ids)
    return places


def _find_in(
    connection: Connection, path: Sequence[Node], ids: tuple[int, int]
) -> dict[tuple[int, int], int]:
    side = path[0].side
    query = select(graph.c.root, graph.c.step, graph.c.rank)
    wanted = graph.c.side == side, graph.c.root.is_not(None), graph.c.id.between(*ids)
    rows = connection.execute(query.where(*wanted))
    reached = {row.root: (row.step, row.rank) for row in rows}
    for below in path[1:]:
        reached = _step_down(connection, reached, below)
    return {place: id_ for id_, place in reached.items()}


def _step_down(
    connection: Connection, reached: dict[int, tuple[int, int]], below: Node
) -> dict[int, tuple[int, int]]:
    # Collections are a view and numbered anew in each graph, so any of them will do.
    same = node.c.kind == "collection" if below.kind == "collection" else node.c.name == below.name
    # Steps and ranks mostly run alike: the node is where it is here, and a look finds it.
    children = _children(connection, reached, and_(same, node.c.position == below.position))
    known = set(children.values())
    missing = {id_: place for id_, place in reached.items() if place not in known}
    return children | _children(connection, missing, same)


def _children(
    connection: Connection, parents: dict[int, tuple[int, int]], wanted: ColumnElement[bool]
) -> dict[int, tuple[int, int]]:
    children: dict[int, tuple[int, int]] = {}
    listed = list(parents)
    for start in range(0, len(listed), _CHUNK):
        part = listed[start : start + _CHUNK]
        query = select(node.c.id, node.c.parent).where(node.c.parent.in_(part), wanted)
        children |= {row.id: parents[row.parent] for row in connection.execute(query)}
    return children
