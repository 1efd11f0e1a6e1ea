"""The row at which measures alone say that a difference begins: inputs agree, an output differs.

It stands in for the diagnosis where pairs were made by hand since, and says less: a diagnosis also
knows arguments, parameters and who wrote what.
"""

from __future__ import annotations

import numpy as np

from builder.results.node_words import KINDS
from tb_graph_ascend.view.diff.merge import MergedRows


def first_divergent(rows: MergedRows, threshold: float) -> list[int]:
    """The problem's node of that row, as a list of one; empty where no output differs so."""
    side = rows.problem
    place = np.maximum(rows.ours, 0)
    known = rows.ours >= 0
    if not len(side) or not known.any():
        return []
    entry = np.isin(side.kind, [KINDS.index("module"), KINDS.index("api")])[place] & known
    divergent = entry & (side.score[place] > threshold)
    fed = side.input_score[place] > threshold
    innermost = rows.below(divergent.astype(np.int64)) == 0
    begins = divergent & ~fed & innermost
    # A module whose inside was not recorded may be fed by what differs; the first row is the best.
    candidates = np.flatnonzero(begins if begins.any() else divergent & innermost)
    if not len(candidates):
        return []
    order = side.order[place[candidates]]
    return [int(side.id[place[candidates[int(np.argmin(order))]]])]
