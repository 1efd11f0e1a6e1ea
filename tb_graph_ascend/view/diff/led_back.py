"""Which divergent rows of a step and rank go back to a cause that is there, and to which.

A row goes back to a cause where a way leads from it to that cause over rows that differ: from an
input to the call that put it out, from a module to what is in it, from a gradient to the forward
call that it belongs to, or by the diagnosis' own word. It is what a trace of one node follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from builder.results.node_words import DIRECTIONS, NOTHING, Bools, Ints
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.rails import Edges
from tb_graph_ascend.view.diff.reach import links_of, reached
from tb_graph_ascend.view.diff.words import RowWords

# What reads a weight that differs since the step before, and what follows from it.
EARLIER = -2
_BACKWARD = re.compile(r"\.(?:backward|parameters_grad)(\.\d+)?$")


def led_back(
    rows: MergedRows,
    words: RowWords,
    edges: Edges,
    threshold: float,
    read_carried: Callable[[], Ints],
) -> Ints:
    """By row the row of the cause that it goes back to, NOTHING for rows that go back to none.

    EARLIER stands for those that go back to no cause here, but to what the step before wrote.

    What the diagnosis lays to a cause goes back to that one. Of several that a way leads to it is
    the one that stands first.
    """
    cause = np.full(len(rows), NOTHING, dtype=np.int64)
    if not len(rows):
        return cause
    source = _sources(rows)
    laid = (source != NOTHING) & words.cause[np.maximum(source, 0)]
    cause[laid] = source[laid]
    causes = np.flatnonzero(words.cause)
    cause[causes] = causes
    differs = _differs(rows, words, source, threshold)
    # Most rows are laid to a cause: only ways to the others are looked for.
    free = differs & (cause == NOTHING)
    starts, ends = _links(rows, edges, source, differs, free)
    links, first = links_of(starts, ends, len(rows)), np.unique(starts)
    through = free.tolist()
    for one in causes.tolist():
        found = list(reached(links, first[cause[first] == one].tolist(), through))
        cause[found] = one
        for row in found:
            through[row] = False
    if any(through):
        carried = [row for row in read_carried().tolist() if through[row]]
        cause[list(reached(links, carried, through))] = EARLIER
    return cause


def _sources(rows: MergedRows) -> Ints:
    """By row the row that the diagnosis lays it to."""
    side = rows.problem
    if not len(side):
        return np.full(len(rows), NOTHING, dtype=np.int64)
    ids = np.where(rows.ours >= 0, side.source[np.maximum(rows.ours, 0)], NOTHING)
    known = np.flatnonzero(ids >= 0)
    source = np.full(len(rows), NOTHING, dtype=np.int64)
    source[known] = rows.rows_of(ids[known])
    return source


def _differs(rows: MergedRows, words: RowWords, source: Ints, threshold: float) -> Bools:
    """Rows that a difference may pass through: it shows in scores, or is laid to something."""
    side = rows.problem
    read = np.zeros(len(rows), dtype=bool)
    if len(side):
        inputs = np.where(rows.ours >= 0, side.input_score[np.maximum(rows.ours, 0)], np.nan)
        read = inputs > threshold
    return np.asarray((words.score > threshold) | read | (source != NOTHING) | words.cause)


def _links(
    rows: MergedRows, edges: Edges, source: Ints, differs: Bools, free: Bools
) -> tuple[Ints, Ints]:
    """From rows that differ to the free ones that take it over from them."""
    below = np.flatnonzero(free[rows.parent] & (rows.parent != NOTHING))
    laid = np.flatnonzero(free & (source != NOTHING))
    flows = free[edges.consumer]
    forward, backward = _gradients(rows, differs, free)
    starts = np.concatenate((edges.producer[flows], below, source[laid], forward))
    ends = np.concatenate((edges.consumer[flows], rows.parent[below], laid, backward))
    return starts[differs[starts]], ends[differs[starts]]


def _gradients(rows: MergedRows, differs: Bools, free: Bools) -> tuple[Ints, Ints]:
    """Forward rows that differ and the free rows of their gradients, both of the problem's side."""
    side = rows.problem
    if not len(side):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    code = DIRECTIONS.index("backward")
    passes = side.direction[np.maximum(rows.ours, 0)]
    ours = differs & (rows.ours >= 0)
    gradients = np.flatnonzero(ours & free & (passes == code)).tolist()
    places = rows.ours.tolist() if gradients else []
    names = [_BACKWARD.sub(r".forward\1", side.names[places[row]]) for row in gradients]
    wanted = set(names)
    forward = np.flatnonzero(ours & (passes != code)).tolist() if gradients else []
    row_of = {name: row for row in forward if (name := side.names[places[row]]) in wanted}
    twins = [
        (row_of[name], row) for name, row in zip(names, gradients, strict=True) if name in row_of
    ]
    pairs = np.array(twins, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
