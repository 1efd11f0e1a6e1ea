"""Links between gradients of which no recorded value tells: they follow from the forward pass."""

from __future__ import annotations

import numpy as np

from builder.results.node_words import NOTHING, Bools, Ints
from tb_graph_ascend.view.diff.carrying import RETURNED, CarryLinks, fed_rows
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.rails import Edges
from tb_graph_ascend.view.diff.twins import forward_twins

_OF_WEIGHTS = ".parameters_grad"


def returned_links(rows: MergedRows, edges: Edges, carrying: Bools) -> CarryLinks:
    """From the backward rows of what read a value to that of what made it, which gets its gradient.

    So it is where nothing that differs is recorded to feed a backward row. The gradients of a
    module's weights are what its own backward pass returns.
    """
    everywhere = np.ones(len(rows), dtype=bool)
    forward, backward = forward_twins(rows, everywhere, carrying)
    of_weights = _of_weights(rows, backward)
    gradient = np.full(len(rows), NOTHING, dtype=np.int64)
    gradient[forward[~of_weights]] = backward[~of_weights]
    held = gradient[forward[of_weights]]
    fed = fed_rows(edges, carrying)
    start, end = gradient[edges.consumer], gradient[edges.producer]
    free = (start != NOTHING) & (end != NOTHING) & (start != end)
    free &= ~fed[np.maximum(end, 0)]
    starts = np.concatenate((start[free], held[held != NOTHING]))
    ends = np.concatenate((end[free], backward[of_weights][held != NOTHING]))
    return CarryLinks(starts, ends, np.full(len(starts), RETURNED, dtype=np.int64))


def _of_weights(rows: MergedRows, chosen: Ints) -> Bools:
    names, places = rows.problem.names, rows.ours
    return np.array([_OF_WEIGHTS in names[places[row]] for row in chosen.tolist()], dtype=bool)
