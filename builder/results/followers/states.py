"""What each row of a step and rank shows of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from builder.results.followers.rows import MergedRows
from builder.results.node_words import KINDS, Bools, Floats, Ints

SHOWN = 0.005  # scores have two digits


@dataclass(frozen=True, slots=True)
class RowStates:
    """By row the scores of the problem's node and of its inputs, NaN for none, and what it is.

    `divergent` and `alone` are of calls and modules, never of what only groups them; `cause` of
    those that are named.
    """

    threshold: float
    score: Floats
    reads: Floats
    entry: Bools
    divergent: Bools
    alone: Bools
    cause: Bools

    @property
    def differing(self) -> Bools:
        """Rows whose own score diverges, whatever they are."""
        return np.asarray(self.score > self.threshold)

    @property
    def reading(self) -> Bools:
        """Rows that read something which differs."""
        return np.asarray(self.reads > self.threshold)

    @property
    def silent(self) -> Bools:
        """Rows of both runs of which no value was compared: a difference may pass through them."""
        return np.asarray(np.isnan(self.score) & np.isnan(self.reads) & self.entry & ~self.alone)


def states_of(rows: MergedRows, causes: Sequence[int], threshold: float | None) -> RowStates:
    """The states of all rows; `causes` are ids of nodes, `threshold` None without a comparison."""
    limit = np.inf if threshold is None else threshold
    score = of_problem(rows, rows.problem.score)
    entry = is_entry(rows)
    cause = np.zeros(len(rows), dtype=bool)
    named = rows.rows_of(np.array(causes, dtype=np.int64))
    cause[named[named >= 0]] = True
    alone = ((rows.ours < 0) | (rows.theirs < 0)) & entry & (threshold is not None)
    reads = of_problem(rows, rows.problem.input_score)
    return RowStates(limit, score, reads, entry, (score > limit) & entry, alone, cause)


def of_problem(rows: MergedRows, cells: Floats) -> Floats:
    """A column of the problem's side by row, NaN for what only the benchmark has."""
    if not len(cells):
        return np.full(len(rows), np.nan)
    return np.where(rows.ours >= 0, cells[np.maximum(rows.ours, 0)], np.nan)


def is_entry(rows: MergedRows) -> Bools:
    """Whether a row is an entry of a dump; roots and collections are views."""
    kind = kinds_of(rows)
    return np.asarray((kind == KINDS.index("module")) | (kind == KINDS.index("api")))


def kinds_of(rows: MergedRows) -> Ints:
    """The kind of each row as its place in KINDS."""
    return by_row(rows, rows.problem.kind, rows.benchmark.kind)


def by_row(rows: MergedRows, ours: Ints, theirs: Ints) -> Ints:
    """A column of both sides by row, the problem's where it has one."""
    mine = ours[np.maximum(rows.ours, 0)] if len(ours) else np.zeros(len(rows), np.int64)
    other = theirs[np.maximum(rows.theirs, 0)] if len(theirs) else np.zeros(len(rows), np.int64)
    return np.where(rows.ours >= 0, mine, other)
