"""Finds one node in all steps and ranks, by the names of what stands above it.

There is no index over names: walking down by children looks at a few hundred rows per graph.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from builder.database.records import Node
from builder.database.schema import graph, node

_CHUNK = 10_000


def find_everywhere(connection: Connection, path: Sequence[Node]) -> dict[tuple[int, int], int]:
    """The ids of the nodes with the same names from the root down, by step and rank."""
    side = path[0].side
    query = select(graph.c.root, graph.c.step, graph.c.rank)
    rows = connection.execute(query.where(graph.c.side == side, graph.c.root.is_not(None)))
    reached = {row.root: (row.step, row.rank) for row in rows}
    for below in path[1:]:
        reached = _step_down(connection, reached, below)
    return {place: id_ for id_, place in reached.items()}


def _step_down(
    connection: Connection, reached: dict[int, tuple[int, int]], below: Node
) -> dict[int, tuple[int, int]]:
    # Collections are a view and numbered anew in each graph, so any of them will do.
    same = node.c.kind == "collection" if below.kind == "collection" else node.c.name == below.name
    found: dict[int, tuple[int, int]] = {}
    parents = list(reached)
    for start in range(0, len(parents), _CHUNK):
        part = parents[start : start + _CHUNK]
        query = select(node.c.id, node.c.parent).where(node.c.parent.in_(part), same)
        found |= {row.id: reached[row.parent] for row in connection.execute(query)}
    return found
