"""Guesses in dumps of modules alone: what calls between two modules, of which none is recorded, do.

What a module reads there and nothing recorded puts out was made of what ran before: of the last
that put out what differs, perhaps.
"""

from __future__ import annotations

import numpy as np

from builder.results.followers.carry_edges import PASSED, Edges, edges, joined
from builder.results.followers.rows import MergedRows
from builder.results.followers.states import RowStates, kinds_of
from builder.results.node_words import KINDS, Bools


def edges_between_modules(
    rows: MergedRows, states: RowStates, coarse: Bools, unfed: Bools
) -> Edges:
    """From the last module that ended before and put out what differs, to each that is `unfed`.

    What one run alone calls is apart from the other like what differs, and so are rows of a format
    too `coarse` to show it.
    None where any call is recorded: there what is not recorded is another matter.
    """
    if (kinds_of(rows) == KINDS.index("api")).any():
        return joined(())
    differing = np.flatnonzero((states.differing | states.alone | coarse) & states.entry)
    differing = differing[np.argsort(rows.last[differing], kind="stable")]
    end = np.flatnonzero(unfed & (states.reading | states.alone | coarse) & ~states.cause)
    at = np.searchsorted(rows.last[differing], end) - 1  # the last that ended before
    return edges(differing[at[at >= 0]], end[at >= 0], PASSED, certain=False)
