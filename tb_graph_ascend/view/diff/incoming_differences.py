"""Into which rows something comes that differs: only such a row carries a difference on."""

from __future__ import annotations

import numpy as np

from builder.results.followers.forward_twins import forward_twins
from builder.results.followers.rows import MergedRows
from builder.results.node_words import Bools, Ints


def differing_inputs(
    rows: MergedRows, reads: Bools, known: Bools, differs: Bools, below: Ints
) -> Bools:
    """By row whether something that differs comes into it.

    It does by an input or a weight that `reads` says of, into a gradient also from its forward call
    if that one `differs`. What reads nothing itself, as a run of calls, has what comes into the
    first row in it that differs; `known` says whose inputs were compared. `below` counts the rows
    below each that differ.
    """
    came: Bools = reads.copy()
    came[forward_twins(rows, differs | reads, (differs | (below > 0)) & ~reads)[1]] = True
    ends = np.flatnonzero(differs & (below == 0))
    holders = np.flatnonzero((below > 0) & ~known & ~came)
    came[holders] = came[ends[np.searchsorted(ends, holders)]]
    return came
