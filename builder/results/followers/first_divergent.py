"""The first row that differs by its measures alone.

It stands in for the diagnosis where pairs were made by hand since, and says less: a diagnosis also
knows arguments, parameters, who wrote what, and calls that one run alone makes.
"""

from __future__ import annotations

import numpy as np

from builder.results.followers.rows import MergedRows
from builder.results.node_words import KINDS


def first_divergent(rows: MergedRows, threshold: float) -> list[int]:
    """The problem's node of that row, as a list of one; empty where no row differs.

    Of the first to run it is the innermost: a module differs by what is in it.
    """
    side = rows.problem
    if not len(side):
        return []
    place = np.maximum(rows.ours, 0)
    entry = np.isin(side.kind, [KINDS.index("module"), KINDS.index("api")])[place]
    divergent = entry & (rows.ours >= 0) & (side.score[place] > threshold)
    innermost = np.flatnonzero(divergent & (rows.below(divergent.astype(np.int64)) == 0))
    if not len(innermost):
        return []
    first = innermost[int(np.argmin(side.order[place[innermost]]))]
    return [int(side.id[place[first]])]
