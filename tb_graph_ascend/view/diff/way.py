"""The way from a cause to what it reached: the rows that flow leads through between two rows."""

from __future__ import annotations

import numpy as np

from builder.results.node_words import Bools
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.rails import Edges
from tb_graph_ascend.view.diff.reach import Links, links_of, reached


def off_the_way(rows: MergedRows, edges: Edges, cause: int, target: int) -> Bools:
    """Which rows are neither on a way from the cause to the target nor above one that is."""
    ahead = _reached(links_of(edges.producer, edges.consumer, len(rows)), _inside(rows, cause))
    back = _reached(links_of(edges.consumer, edges.producer, len(rows)), _inside(rows, target))
    on = (ahead & back) | _inside(rows, cause) | _inside(rows, target)
    above = rows.below(on.astype(np.int64)) > 0
    return np.asarray(~(on | above))


def _inside(rows: MergedRows, row: int) -> Bools:
    inside = np.zeros(len(rows), dtype=bool)
    inside[row : rows.last[row] + 1] = True
    return inside


def _reached(links: Links, start: Bools) -> Bools:
    """All rows that can be reached along links, the start included."""
    flags = np.zeros(len(start), dtype=bool)
    flags[list(reached(links, np.flatnonzero(start).tolist(), [True] * len(start)))] = True
    return flags
