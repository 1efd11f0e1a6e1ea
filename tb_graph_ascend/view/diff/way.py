"""The way from a cause to what it reached: the rows that flow leads through between two rows."""

from __future__ import annotations

import numpy as np

from builder.results.node_words import Bools, Ints
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.rails import Edges


def off_the_way(rows: MergedRows, edges: Edges, cause: int, target: int) -> Bools:
    """Which rows are neither on a way from the cause to the target nor above one that is."""
    ahead = _reached(edges.producer, edges.consumer, _inside(rows, cause), len(rows))
    back = _reached(edges.consumer, edges.producer, _inside(rows, target), len(rows))
    on = (ahead & back) | _inside(rows, cause) | _inside(rows, target)
    above = rows.below(on.astype(np.int64)) > 0
    return np.asarray(~(on | above))


def _inside(rows: MergedRows, row: int) -> Bools:
    inside = np.zeros(len(rows), dtype=bool)
    inside[row : rows.last[row] + 1] = True
    return inside


def _reached(source: Ints, target: Ints, start: Bools, count: int) -> Bools:
    """All that can be reached along edges, the start included."""
    order = np.argsort(source, kind="stable")
    heads = np.searchsorted(source[order], np.arange(count + 1)).tolist()
    targets = target[order].tolist()
    reached = start.tolist()
    pending = [row for row, begun in enumerate(reached) if begun]
    while pending:
        row = pending.pop()
        for following in targets[heads[row] : heads[row + 1]]:
            if not reached[following]:
                reached[following] = True
                pending.append(following)
    return np.array(reached, dtype=bool)
