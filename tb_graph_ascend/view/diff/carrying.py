"""Along which links rows take a difference over from others, and which rows can carry one.

Counts, lists and ways go by these links alone, so that none of them knows a way that another does
not. A difference passes through rows where it shows in scores, and through calls that one run alone
makes. Through calls without any values it may have passed: those are guesses, and kept apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from builder.results.flow_cells import SAID, PassageIds
from builder.results.node_words import NOTHING, Bools, Ints
from builder.results.trace import Link
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.rails import Edges
from tb_graph_ascend.view.diff.twins import forward_twins
from tb_graph_ascend.view.diff.words import RowWords, is_entry

KINDS_OF_LINK: tuple[Link, ...] = (
    "input",
    "inside",
    "forward",
    "cause",
    "guess",
    "weight",
    "returned",
    "fed",
)
INPUT, INSIDE, FORWARD, CAUSE, GUESS, WEIGHT, RETURNED, FED = range(len(KINDS_OF_LINK))


@dataclass(frozen=True, slots=True)
class CarryLinks:
    """From rows to rows that take a difference over from them, with the place in KINDS_OF_LINK."""

    start: Ints
    end: Ints
    kind: Ints

    def between(self, starts: Bools, ends: Bools) -> CarryLinks:
        """Those that lead from some rows to some."""
        return self._taken(starts[self.start] & ends[self.end])

    def recorded(self) -> CarryLinks:
        """Those that are no guesses."""
        return self._taken(self.kind != GUESS)

    def _taken(self, kept: Bools) -> CarryLinks:
        return CarryLinks(self.start[kept], self.end[kept], self.kind[kept])

    def joined(self, more: CarryLinks) -> CarryLinks:
        """These and more."""
        return CarryLinks(
            np.concatenate((self.start, more.start)),
            np.concatenate((self.end, more.end)),
            np.concatenate((self.kind, more.kind)),
        )


def sources_of(rows: MergedRows) -> Ints:
    """By row the row that the diagnosis lays it to."""
    side = rows.problem
    if not len(side):
        return np.full(len(rows), NOTHING, dtype=np.int64)
    ids = np.where(rows.ours >= 0, side.source[np.maximum(rows.ours, 0)], NOTHING)
    known = np.flatnonzero(ids >= 0)
    source = np.full(len(rows), NOTHING, dtype=np.int64)
    source[known] = rows.rows_of(ids[known])
    return source


def carrying_rows(rows: MergedRows, words: RowWords, source: Ints, threshold: float) -> Bools:
    """Rows that a difference passes through: it shows, is laid to something, or none is to tell."""
    read = reading_rows(rows, threshold)
    return np.asarray(
        (words.score > threshold) | read | (source != NOTHING) | words.cause | words.alone
    )


def silent_rows(rows: MergedRows, words: RowWords) -> Bools:
    """Rows of both runs of which no value was compared: a difference may pass through them."""
    unknown = np.isnan(words.score) & np.isnan(_input_score(rows))
    return np.asarray(unknown & is_entry(rows) & ~words.alone)


def reading_rows(rows: MergedRows, threshold: float) -> Bools:
    """Rows that read something which differs."""
    return np.asarray(_input_score(rows) > threshold)


def fed_otherwise(rows: MergedRows, threshold: float) -> Bools:
    """Rows that something is fed to which differs and that have others inside."""
    return np.asarray((rows.last > np.arange(len(rows))) & reading_rows(rows, threshold))


def _input_score(rows: MergedRows) -> np.typing.NDArray[np.float64]:
    side = rows.problem
    if not len(side):
        return np.full(len(rows), np.nan)
    return np.where(rows.ours >= 0, side.input_score[np.maximum(rows.ours, 0)], np.nan)


def fed_rows(edges: Edges, carrying: Bools) -> Bools:
    """Rows that read what rows that carry a difference put out."""
    fed = np.zeros(len(carrying), dtype=bool)
    fed[edges.consumer[carrying[edges.producer]]] = True
    return fed


def flow_links(edges: Edges) -> CarryLinks:
    """All that flows, whether it differs or not."""
    kind = np.full(len(edges.producer), INPUT, dtype=np.int64)
    return CarryLinks(edges.producer, edges.consumer, kind)


def carry_links(
    rows: MergedRows, edges: Edges, source: Ints, carrying: Bools, ends: Bools
) -> CarryLinks:
    """The links from rows that carry a difference to some that do."""
    below = np.flatnonzero(ends[rows.parent] & (rows.parent != NOTHING))
    laid = np.flatnonzero(ends & (source != NOTHING))
    flows = ends[edges.consumer]
    forward, backward = forward_twins(rows, carrying, carrying & ends)
    parts = (
        (edges.producer[flows], edges.consumer[flows], INPUT),
        (below, rows.parent[below], INSIDE),
        (forward, backward, FORWARD),
        (source[laid], laid, CAUSE),
    )
    kinds = [np.full(len(start), kind, dtype=np.int64) for start, _, kind in parts]
    starts = np.concatenate([start for start, _, _ in parts])
    links = CarryLinks(starts, np.concatenate([end for _, end, _ in parts]), np.concatenate(kinds))
    return links.between(carrying, ends)


def passing_links(rows: MergedRows, passages: Sequence[PassageIds]) -> CarryLinks:
    """What passed through calls without values, as the dump says or as it was worked out."""
    starts, ends, said = [], [], []
    for side, (producer, consumer, how, *_) in enumerate(passages):
        start, end = rows.rows_of(producer), rows.rows_of(consumer)
        known = (start != NOTHING) & (end != NOTHING)
        if side == 1 and len(rows.problem):
            alone = rows.ours < 0
            known &= alone[start] | alone[end]
        starts.append(start[known])
        ends.append(end[known])
        said.append(np.where(how[known] == SAID, INPUT, GUESS))
    none = np.empty(0, dtype=np.int64)
    return CarryLinks(*(np.concatenate((none, *part)) for part in (starts, ends, said)))
