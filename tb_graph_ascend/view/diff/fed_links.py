"""Links into and out of modules that a cause names for what they are fed.

No call inside such a module put out what it reads, and the call around it that did agrees: from the
module's row the difference comes in, and from there it leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from builder.results.equal_numbers import ValueReader
from builder.results.node_words import NOTHING, Bools, Ints
from tb_graph_ascend.view.diff.carrying import FED, GUESS, INPUT, CarryLinks, fed_rows
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.rails import Edges


def fed_links(
    rows: MergedRows,
    edges: Edges,
    modules: Sequence[int],
    readers: Sequence[ValueReader],
    carrying: Bools,
    divergent: Bools,
) -> CarryLinks:
    """From rows of modules to what reads, inside, what they are fed, and to what they hand on.

    Equal numbers tell the first. Where none do it is a guess: what differs inside and is fed by
    nothing that does.
    """
    start = rows.rows_of(np.array([one.holder for one in readers], dtype=np.int64))
    end = rows.rows_of(np.array([one.reader for one in readers], dtype=np.int64))
    inside = (start != NOTHING) & (end > start) & (end <= rows.last[start])
    found = _links(start[inside], end[inside], FED)
    fed = fed_rows(edges, carrying)
    for module in modules:
        if module not in start[inside]:
            found = found.joined(_guessed(rows, module, carrying & ~fed))
        found = found.joined(_handed_on(rows, edges, module, divergent))
    return found


def _guessed(rows: MergedRows, module: int, chosen: Bools) -> CarryLinks:
    last = int(rows.last[module])
    end = np.flatnonzero(chosen[module + 1 : last + 1]) + module + 1
    return _links(np.full(len(end), module, dtype=np.int64), end, GUESS)


def _handed_on(rows: MergedRows, edges: Edges, module: int, divergent: Bools) -> CarryLinks:
    """To what reads, outside of a module, what was put out in it and differs."""
    made = is_inside(rows, module, edges.producer) & divergent[edges.producer]
    end = np.unique(edges.consumer[made])
    end = end[~is_inside(rows, module, end) & (end != module)]
    return _links(np.full(len(end), module, dtype=np.int64), end, INPUT)


def is_inside(rows: MergedRows, module: int, chosen: Ints) -> Bools:
    """Which of some rows are below the row of a module."""
    return np.asarray((chosen > module) & (chosen <= rows.last[module]))


def _links(start: Ints, end: Ints, kind: int) -> CarryLinks:
    return CarryLinks(start, end, np.full(len(start), kind, dtype=np.int64))
