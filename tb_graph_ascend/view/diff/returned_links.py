"""Links between gradients of which no recorded value tells: they follow from the forward pass."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from builder.results.node_words import NOTHING, Bools, Ints
from tb_graph_ascend.view.diff.carrying import RETURNED, CarryLinks, fed_rows
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.rails import Edges
from tb_graph_ascend.view.diff.twins import forward_twins

_OF_WEIGHTS, _BACKWARD = ".parameters_grad", ".backward"


def returned_links(rows: MergedRows, edges: Edges, carrying: Bools) -> CarryLinks:
    """From the backward rows of what read a value to that of what made it, which gets its gradient.

    So it is where nothing that differs is recorded to feed a backward row. The gradients of a
    module's weights are what its own backward pass returns; where that one agrees, another call of
    the module returned what differs, and they are the sum.
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
    summed = _summed(rows, backward[~of_weights], backward[of_weights][held == NOTHING])
    starts = np.concatenate((start[free], held[held != NOTHING], summed[0]))
    ends = np.concatenate((end[free], backward[of_weights][held != NOTHING], summed[1]))
    return CarryLinks(starts, ends, np.full(len(starts), RETURNED, dtype=np.int64))


def _of_weights(rows: MergedRows, chosen: Ints) -> Bools:
    return np.array([_OF_WEIGHTS in name for name in _names(rows, chosen)], dtype=bool)


def _summed(rows: MergedRows, returned: Ints, weights: Ints) -> tuple[Ints, Ints]:
    """From the backward rows of all calls of a module to some gradients of its weights."""
    calls = defaultdict(list)
    if len(weights):
        for name, row in zip(_names(rows, returned), returned.tolist(), strict=True):
            calls[name.rpartition(_BACKWARD)[0]].append(row)
    found = [
        (row, weight)
        for name, weight in zip(_names(rows, weights), weights.tolist(), strict=True)
        for row in calls.get(name.rpartition(_OF_WEIGHTS)[0], ())
    ]
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _names(rows: MergedRows, chosen: Ints) -> list[str]:
    names, places = rows.problem.names, rows.ours
    return [names[places[row]] for row in chosen.tolist()]
