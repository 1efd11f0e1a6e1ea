"""The word of each row: a difference begins there, is carried on, or both sides agree.

What differs though nothing that differs comes into it, and is named as no beginning, only differs.

What is below the threshold and shown above 0.00 is close: it does not diverge, and does not agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from builder.results.node_words import KINDS, Bools, Floats, Ints
from tb_graph_ascend.view.diff.incoming_differences import differing_inputs
from tb_graph_ascend.view.diff.merge import MergedRows, deepest_first

Word = Literal[
    "none",
    "agrees",
    "close",
    "carries",
    "begins",
    "cannot_tell",
    "only_problem",
    "only_benchmark",
    "differs",
]
WORDS: tuple[Word, ...] = get_args(Word)
SHOWN = 0.005  # scores have two digits
_CODE = {word: code for code, word in enumerate(WORDS)}


@dataclass(frozen=True, slots=True)
class RowWords:
    """By row: the word as its place in WORDS, own score and state, the worst and sums below."""

    word: Ints
    score: Floats
    divergent: Bools
    alone: Bools
    worst_below: Floats
    divergent_below: Ints
    alone_below: Ints
    cause: Bools
    causes_below: Ints


def words_of(rows: MergedRows, causes: Sequence[int], threshold: float | None) -> RowWords:
    """The words of all rows; `threshold` is None where nothing was compared."""
    score = _of_problem(rows, rows.problem.score)
    entry = is_entry(rows)
    divergent = (score > (np.inf if threshold is None else threshold)) & entry
    cause = np.zeros(len(rows), dtype=bool)
    cause_rows = rows.rows_of(np.array(causes, dtype=np.int64))
    cause[cause_rows[cause_rows >= 0]] = True
    alone = (rows.ours < 0) | (rows.theirs < 0)
    alone &= entry & (threshold is not None)
    divergent_below = rows.below(divergent.astype(np.int64))
    causes_below = rows.below(cause.astype(np.int64))
    known = ~np.isnan(score)
    agreeing = known | (rows.below(known.astype(np.int64)) > 0)
    worst_below = _worst_below(rows, score)
    close = np.fmax(score, worst_below) >= SHOWN
    reads = _of_problem(rows, rows.problem.input_score)
    carries = differing_inputs(
        rows, reads >= SHOWN, ~np.isnan(reads), divergent | cause, divergent_below
    )
    differs = divergent | (divergent_below > 0)
    word = np.select(
        [
            np.full(len(rows), threshold is None),
            cause | ((causes_below > 0) & ~alone),
            alone & (rows.ours >= 0),
            alone,
            differs & carries,
            differs,
            close,
            agreeing,
        ],
        [
            _CODE[w]
            for w in (
                "none",
                "begins",
                "only_problem",
                "only_benchmark",
                "carries",
                "differs",
                "close",
                "agrees",
            )
        ],
        default=_CODE["cannot_tell"],
    )
    return RowWords(
        word=word,
        score=score,
        divergent=divergent,
        alone=alone,
        worst_below=worst_below,
        divergent_below=divergent_below,
        alone_below=rows.below(alone.astype(np.int64)),
        cause=cause,
        causes_below=causes_below,
    )


def _of_problem(rows: MergedRows, cells: Floats) -> Floats:
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


def _worst_below(rows: MergedRows, score: Floats) -> Floats:
    known = np.where(np.isnan(score), -1.0, score)
    worst = np.full(len(rows), -1.0)
    for level in deepest_first(rows.parent):
        np.maximum.at(worst, rows.parent[level], np.maximum(worst[level], known[level]))
    return np.where(worst < 0, np.nan, worst)
