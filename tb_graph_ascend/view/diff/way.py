"""The way from a cause to what it reached: the rows that links lead through between two rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from builder.results.node_words import Bools
from tb_graph_ascend.view.diff.carrying import CarryLinks
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.reach import Links, links_of, reached


def off_the_way(
    rows: MergedRows, links: CarryLinks, through: Bools, causes: Sequence[int], target: int
) -> Bools:
    """Which rows are neither on a way from the causes to the target nor above one that is.

    A way leads over some rows alone.
    """
    start, end = _inside(rows, causes), _inside(rows, [target])
    links = links.between(through | start | end, through | start | end)
    ahead = _reached(links_of(links.start, links.end, len(rows)), start)
    back = _reached(links_of(links.end, links.start, len(rows)), end)
    on = (ahead & back) | start | end
    above = rows.below(on.astype(np.int64)) > 0
    return np.asarray(~(on | above))


def _inside(rows: MergedRows, chosen: Sequence[int]) -> Bools:
    inside = np.zeros(len(rows), dtype=bool)
    for row in chosen:
        inside[row : rows.last[row] + 1] = True
    return inside


def _reached(links: Links, start: Bools) -> Bools:
    """All rows that can be reached along links, the start included."""
    flags = np.zeros(len(start), dtype=bool)
    flags[list(reached(links, np.flatnonzero(start).tolist(), [True] * len(start)))] = True
    return flags
