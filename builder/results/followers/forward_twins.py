"""Forward rows and the rows of their gradients, and which rows are of the forward pass."""

from __future__ import annotations

import numpy as np

from builder.results.followers.rows import MergedRows
from builder.results.node_words import DIRECTIONS, NOTHING, Bools, Ints


def forward_twins(rows: MergedRows, forwards: Bools, gradients: Bools) -> tuple[Ints, Ints]:
    """Of some rows those of forward calls, and those of the gradients that belong to them."""
    backward = np.flatnonzero(gradients & (rows.forward_call != NOTHING))
    forward = rows.forward_call[backward]
    known = forwards[forward]
    return forward[known], backward[known]


def forward_pass(rows: MergedRows) -> Bools:
    """The problem's rows that run forward before the first gradient of their micro step.

    What runs forward later is called by a backward pass, or by the optimizer.
    """
    side = rows.problem
    if not len(side):
        return np.zeros(len(rows), dtype=bool)
    back = side.direction == DIRECTIONS.index("backward")
    first = np.full(int(side.micro_step.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, side.micro_step[back], side.order[back])
    forward = ~back & (side.order < first[side.micro_step])
    return np.asarray((rows.ours >= 0) & forward[np.maximum(rows.ours, 0)])


def is_backward(rows: MergedRows) -> Bools:
    """The problem's rows that a backward pass made."""
    ours = rows.ours >= 0
    if not len(rows.problem):
        return ours
    passes = rows.problem.direction[np.maximum(rows.ours, 0)]
    return np.asarray(ours & (passes == DIRECTIONS.index("backward")))
