"""The rows that can be seen while some are open: one number a row, from the top of the list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from builder.results.followers.rows import MergedRows
from builder.results.node_words import NOTHING, Bools, Ints
from tb_graph_ascend.view.diff.folds import Runs
from tb_graph_ascend.view.diff.openness import Opening


@dataclass(frozen=True, slots=True)
class VisibleRows:
    """What stands in the list, from its top.

    `row` is the merged row; `fold` 0 for a row as such, n for one row that stands for n repeats,
    −n for the head above n repeats that are unfolded. `place` is the visible row of each merged
    row, or of what it is folded or closed into, and NOTHING where it was asked to be left out.
    `is_open` is by merged row.
    """

    row: Ints
    fold: Ints
    depth: Ints
    place: Ints
    is_open: Bools

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person asked to see: what is open, rows to keep out of folds, rows to leave out."""

    openings: Sequence[Opening] = ()
    kept: Sequence[int] = ()
    hidden: Bools | None = field(default=None, compare=False)


def visible_rows(rows: MergedRows, runs: Runs, shown: Shown) -> VisibleRows:
    """The list as it looks with the given openness; the first row is always open."""
    is_open, unfolded = _opened(rows, shown.openings)
    closed = (rows.children > 0) & ~is_open
    hidden = covered(len(rows), np.flatnonzero(closed) + 1, rows.last[closed] + 1)
    if shown.hidden is not None:
        hidden |= shown.hidden
    first, size, folded = _segments(
        rows, runs, is_open | _flags(rows, shown.kept), unfolded, hidden
    )
    hidden[folded] = True
    heads, sizes = _heads(runs, unfolded, hidden)
    row, fold, indent = _lined_up(hidden, first, size, heads, sizes)
    depth = rows.depth[row] + _indents(rows, runs, unfolded)[row] - indent
    place = _places(rows, row, fold)
    if shown.hidden is not None:
        place[shown.hidden] = NOTHING
    return VisibleRows(row, fold, depth, place, is_open)


def _opened(rows: MergedRows, openings: Sequence[Opening]) -> tuple[Bools, Bools]:
    is_open, unfolded = np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
    is_open[:1] = True
    places = rows.rows_of(np.array([o.node for o in openings], dtype=np.int64)).tolist()
    for opening, row in zip(openings, places, strict=True):
        if row == NOTHING:
            continue
        if opening.change == "open_all":
            is_open[row : rows.last[row] + 1] = True
        elif opening.change == "unfold":
            unfolded[row] = True
        else:
            is_open[row] = opening.change == "open"
    return is_open, unfolded


def _flags(rows: MergedRows, kept: Sequence[int]) -> Bools:
    flags = np.zeros(len(rows), dtype=bool)
    kept_rows = rows.rows_of(np.array(list(kept), dtype=np.int64))
    flags[kept_rows[kept_rows >= 0]] = True
    return flags


def covered(count: int, start: Ints, stop: Ints) -> Bools:
    """Which of `count` places lie in one of the ranges."""
    steps = np.zeros(count + 1, dtype=np.int64)
    np.add.at(steps, np.minimum(start, count), 1)
    np.add.at(steps, stop, -1)
    return np.asarray(np.cumsum(steps)[:-1] > 0)


def _segments(
    rows: MergedRows, runs: Runs, kept: Bools, unfolded: Bools, hidden: Bools
) -> tuple[Ints, Ints, Ints]:
    """Neighbours that become one row: the first of each, how many, and all others of them."""
    member = runs.member
    if not len(member):
        return member, member, member
    folds = ~kept[member] & ~unfolded[runs.first] & ~hidden[member]
    joins = folds[1:] & folds[:-1] & (runs.first[1:] == runs.first[:-1])
    starts = np.append(True, ~joins)
    segment = np.cumsum(starts) - 1
    size = np.bincount(segment)
    many = size > 1
    first = member[starts]
    others = member[~starts]
    # All within a fold is closed, so nothing below it needs to be hidden.
    return first[many], size[many], others


def _heads(runs: Runs, unfolded: Bools, hidden: Bools) -> tuple[Ints, Ints]:
    """The first rows of unfolded runs that can be seen, and how many each has."""
    first, size = np.unique(runs.first, return_counts=True)
    seen = unfolded[first] & ~hidden[first] if len(first) else np.zeros(0, dtype=bool)
    return first[seen], size[seen]


def _lined_up(
    hidden: Bools, first: Ints, size: Ints, heads: Ints, sizes: Ints
) -> tuple[Ints, Ints, Ints]:
    folds = np.zeros(len(hidden), dtype=np.int64)
    folds[first] = size
    seen = np.flatnonzero(~hidden)
    at = np.searchsorted(seen, heads)
    row = np.insert(seen, at, heads)
    fold = np.insert(folds[seen], at, -sizes)
    return row, fold, (fold < 0).astype(np.int64)


def _indents(rows: MergedRows, runs: Runs, unfolded: Bools) -> Ints:
    """How far rows are set in by the heads of unfolded runs above them."""
    inside = runs.member[unfolded[runs.first]] if len(runs.member) else runs.member
    steps = np.zeros(len(rows) + 1, dtype=np.int64)
    np.add.at(steps, inside, 1)
    np.add.at(steps, rows.last[inside] + 1, -1)
    return np.asarray(np.cumsum(steps)[:-1])


def _places(rows: MergedRows, row: Ints, fold: Ints) -> Ints:
    """The visible row of every merged row: its own, or that of the last one seen before it."""
    seen = np.flatnonzero(fold >= 0)
    starts = row[seen]
    if not len(starts):
        return np.full(len(rows), NOTHING, dtype=np.int64)
    # In pre-order what is closed follows its head, and what is folded the first of its fold.
    begins = np.bincount(starts, minlength=len(rows))
    return np.asarray(seen[np.maximum(np.cumsum(begins) - 1, 0)])
