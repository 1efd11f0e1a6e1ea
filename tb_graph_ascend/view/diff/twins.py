"""Forward rows and the rows of their gradients, and which rows are of the forward pass."""

from __future__ import annotations

import re

import numpy as np

from builder.results.node_words import DIRECTIONS, Bools, Ints
from tb_graph_ascend.view.diff.merge import MergedRows

_BACKWARD = re.compile(r"\.(?:backward|parameters_grad)(\.\d+)?$")


def forward_twins(rows: MergedRows, forwards: Bools, gradients: Bools) -> tuple[Ints, Ints]:
    """Of some rows those of forward calls, and those of the gradients that belong to them."""
    side = rows.problem
    if not len(side):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    code = DIRECTIONS.index("backward")
    passes = side.direction[np.maximum(rows.ours, 0)]
    ours = rows.ours >= 0
    backward = np.flatnonzero(gradients & ours & (passes == code)).tolist()
    places = rows.ours.tolist() if backward else []
    names = [_BACKWARD.sub(r".forward\1", side.names[places[row]]) for row in backward]
    wanted = set(names)
    forward = np.flatnonzero(forwards & ours & (passes != code)).tolist() if backward else []
    row_of = {name: row for row in forward if (name := side.names[places[row]]) in wanted}
    twins = [
        (row_of[name], row) for name, row in zip(names, backward, strict=True) if name in row_of
    ]
    pairs = np.array(twins, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


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
