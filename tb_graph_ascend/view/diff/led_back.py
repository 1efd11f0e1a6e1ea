"""Which divergent rows of a step and rank go back to a cause that is there, and to which.

A row goes back to a cause where a way leads from it to that cause over rows that differ: from an
input to the call that put it out, from a module to what is in it, from a gradient to the forward
call that it belongs to, or by the diagnosis' own word. It is what a trace of one node follows.
"""

from __future__ import annotations

import re

import numpy as np

from builder.results.node_words import DIRECTIONS, NOTHING, Bools, Ints
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.rails import Edges
from tb_graph_ascend.view.diff.reach import Links, links_of, reached
from tb_graph_ascend.view.diff.words import RowWords

_BACKWARD = re.compile(r"\.(?:backward|parameters_grad)(\.\d+)?$")


def led_back(rows: MergedRows, words: RowWords, edges: Edges, threshold: float) -> Ints:
    """By row the row of the cause that it goes back to, NOTHING for rows that go back to none.

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
    links = _links(rows, edges, source, differs)
    for one in causes.tolist():
        start = np.flatnonzero(cause == one).tolist()
        free = differs & ((cause == NOTHING) | (cause == one))
        cause[list(reached(links, start, free.tolist()))] = one
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


def _links(rows: MergedRows, edges: Edges, source: Ints, differs: Bools) -> Links:
    """From what hands a difference on to what takes it over, between rows that differ."""
    below = np.flatnonzero(differs & (rows.parent != NOTHING))
    laid = np.flatnonzero(source != NOTHING)
    forward, backward = _gradients(rows, np.flatnonzero(differs))
    starts = np.concatenate((edges.producer, below, source[laid], forward))
    ends = np.concatenate((edges.consumer, rows.parent[below], laid, backward))
    kept = differs[starts] & differs[ends]
    return links_of(starts[kept], ends[kept], len(rows))


def _gradients(rows: MergedRows, among: Ints) -> tuple[Ints, Ints]:
    """Forward rows and the rows of their gradients, both of the problem's side."""
    side = rows.problem
    ours = [(row, int(rows.ours[row])) for row in among.tolist() if rows.ours[row] >= 0]
    code = DIRECTIONS.index("backward")
    row_of = {side.names[at]: row for row, at in ours if side.direction[at] != code}
    twins = [
        (row_of[name], row)
        for row, at in ours
        if side.direction[at] == code
        and (name := _BACKWARD.sub(r".forward\1", side.names[at])) in row_of
    ]
    pairs = np.array(twins, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
