"""Links from modules that hold a weight that differs to what reads it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from builder.results.equal_numbers import ValueReader
from builder.results.node_words import NOTHING, Bools, Ints
from tb_graph_ascend.view.diff.carrying import WEIGHT, CarryLinks, fed_rows
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.rails import Edges


def weight_links(
    rows: MergedRows,
    edges: Edges,
    holders: Sequence[int],
    readers: Sequence[ValueReader],
    carrying: Bools,
) -> CarryLinks:
    """From rows of modules to those that read their weight, as equal numbers tell.

    Where no numbers tell any, it is what differs inside and is fed by nothing that does.
    """
    start = rows.rows_of(np.array([one.holder for one in readers], dtype=np.int64))
    end = rows.rows_of(np.array([one.reader for one in readers], dtype=np.int64))
    known = (start != NOTHING) & (end != NOTHING)
    parts = [(start[known], end[known])]
    parts += [_inside(rows, edges, one, carrying) for one in sorted({*holders} - {*start.tolist()})]
    starts, ends = (np.concatenate(side) for side in zip(*parts, strict=True))
    return CarryLinks(starts, ends, np.full(len(starts), WEIGHT, dtype=np.int64))


def _inside(rows: MergedRows, edges: Edges, holder: int, carrying: Bools) -> tuple[Ints, Ints]:
    fed = fed_rows(edges, carrying)
    inside = slice(holder + 1, int(rows.last[holder]) + 1)
    ends = np.flatnonzero(carrying[inside] & ~fed[inside]) + holder + 1
    return np.full(len(ends), holder, dtype=np.int64), ends
