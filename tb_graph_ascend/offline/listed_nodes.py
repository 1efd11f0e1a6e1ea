"""What is searched and listed of a step and rank: columns by node, and by row of a list."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.results.manual.patches import Patches
from tb_graph_ascend.view.search.node_index import PairIndex


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
