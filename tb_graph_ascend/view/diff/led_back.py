"""Which divergent rows of a step and rank go back to a cause that is there, and to which.

A row goes back to a cause where a way leads from it to that cause over rows that differ: from an
input to the call that put it out, from a module to what is in it, from a gradient to the forward
call that it belongs to, or by the diagnosis' own word. Where such a way leads through a call
without values, it goes back to it perhaps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from builder.results.flow_cells import PassageIds
from builder.results.node_words import NOTHING, Bools, Ints
from tb_graph_ascend.view.diff.carrying import (
    CarryLinks,
    carry_links,
    carrying_rows,
    guessed_links,
    silent_rows,
    sources_of,
)
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.rails import Edges
from tb_graph_ascend.view.diff.reach import links_of, reached
from tb_graph_ascend.view.diff.words import RowWords

# What reads a weight that differs since the step before, and what follows from it.
EARLIER = -2


@dataclass(frozen=True, slots=True)
class LedBack:
    """By row the row of its `cause`: NOTHING for none, EARLIER for what the step before wrote.

    `perhaps` says that a guess leads there. Of several causes that a way leads to it is the one
    that stands first.
    """

    cause: Ints
    perhaps: Bools


@dataclass(frozen=True, slots=True)
class Carriers:
    """What ways are looked for in; what is read is read where something is left to be led back."""

    rows: MergedRows
    words: RowWords
    edges: Edges
    threshold: float
    read_carried: Callable[[], Ints]
    read_passages: Callable[[], Sequence[PassageIds]]


def led_back(here: Carriers) -> LedBack:
    """Where every row goes back to; what the diagnosis lays to a cause goes back to that one."""
    rows, words = here.rows, here.words
    cause = np.full(len(rows), NOTHING, dtype=np.int64)
    perhaps = np.zeros(len(rows), dtype=bool)
    if not len(rows):
        return LedBack(cause, perhaps)
    source = sources_of(rows)
    laid = (source != NOTHING) & words.cause[np.maximum(source, 0)]
    cause[laid] = source[laid]
    causes = np.flatnonzero(words.cause)
    cause[causes] = causes
    carrying = carrying_rows(rows, words, source, here.threshold)
    _follow(here, cause, source, carrying)
    before = cause.copy()
    left = cause == NOTHING
    if (left & words.divergent).any():
        _guess(here, cause, source, carrying)
        perhaps = left & (cause != before)
    return LedBack(cause, perhaps)


def links_among(here: Carriers) -> CarryLinks:
    """All links along which a difference is carried here, or may be."""
    rows = here.rows
    source = sources_of(rows)
    passing = carrying_rows(rows, here.words, source, here.threshold) | silent_rows(
        rows, here.words
    )
    found = carry_links(rows, here.edges, source, passing, passing)
    return found.joined(guessed_links(rows, here.read_passages()).between(passing, passing))


def _follow(here: Carriers, cause: Ints, source: Ints, carrying: Bools) -> None:
    """Lead back what recorded flow leads back."""
    # Most rows are laid to a cause: only ways to the others are looked for.
    free = carrying & (cause == NOTHING)
    found = carry_links(here.rows, here.edges, source, carrying, free)
    links, first = links_of(found.start, found.end, len(cause)), np.unique(found.start)
    through = free.tolist()
    for one in np.flatnonzero(here.words.cause).tolist():
        led = list(reached(links, first[cause[first] == one].tolist(), through))
        cause[led] = one
        for row in led:
            through[row] = False
    if any(through):
        carried = [row for row in here.read_carried().tolist() if through[row]]
        cause[list(reached(links, carried, through))] = EARLIER


def _guess(here: Carriers, cause: Ints, source: Ints, carrying: Bools) -> None:
    """Lead back what is left through calls without values."""
    passing = carrying | silent_rows(here.rows, here.words)
    free = passing & (cause == NOTHING)
    found = carry_links(here.rows, here.edges, source, passing, free)
    found = found.joined(guessed_links(here.rows, here.read_passages()).between(passing, free))
    links, through = links_of(found.start, found.end, len(cause)), free.tolist()
    first = np.unique(found.start)
    for one in (*np.flatnonzero(here.words.cause).tolist(), EARLIER):
        led = list(reached(links, first[cause[first] == one].tolist(), through))
        cause[led] = one
        for row in led:
            through[row] = False
