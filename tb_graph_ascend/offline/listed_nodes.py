"""What is searched and listed of a step and rank: columns by node, and by row of a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.results.manual.patches import Patches
from tb_graph_ascend.server.library import OpenDatabase
from tb_graph_ascend.server.messages import NodeRow
from tb_graph_ascend.server.node_table import TableHits, table
from tb_graph_ascend.view.search.node_index import PairIndex

_AT_ONCE = 1000


def node_cells(index: PairIndex, patches: Patches) -> dict[str, NDArray[Any]]:
    """Columns by node, the problem's first; `shownScore` is that of lists, `parent` a place."""
    columns = index.columns.patched(patches.nodes) if patches.nodes else index.columns
    names = ("id", "problem", "order", "kind", "direction", "matched", "score", "introduced")
    more = ("verdict", "overflow", "source", "input")
    cells: dict[str, NDArray[Any]] = {name: getattr(columns, name) for name in (*names, *more)}
    problem, benchmark = index.sides
    lifted = np.where(benchmark.parent >= 0, benchmark.parent + len(problem), -1)
    return cells | {
        "parent": np.concatenate((problem.parent, lifted)),
        "shownScore": index.scored(columns).score,
        "name": index.names.place,
        "nameRank": index.names.rank,
        "module": index.modules.place,
    }


def list_cells(index: PairIndex, patches: Patches) -> dict[str, NDArray[Any]]:
    """Columns by row of a list: the places of its nodes, -1 for none."""
    listed = index.listed_through(patches)
    return {"listed": listed.rows, "partner": listed.partner}


def list_rows(
    opened: OpenDatabase, index: PairIndex, place: tuple[int, int], patches: Patches
) -> Iterator[NodeRow]:
    """The rows of a list of all nodes, in its order."""
    ids = index.columns.id[index.listed_through(patches).rows]
    for start in range(0, len(ids), _AT_ONCE):
        part = ids[start : start + _AT_ONCE]
        hits = TableHits(part, np.zeros(len(part), np.int64), (place,), 1, 1)
        yield from table(opened, hits, 0, _AT_ONCE).rows
