"""The word of each row: a difference begins there, is carried on, or both sides agree.

What differs carries a difference on where it goes back to a cause, surely, perhaps or through the
weights of the step before: what `followers.spread` counts, and nothing else. All else that differs
only differs. What is named and heals is another way to the same result: nothing begins there.

What is below the threshold and shown above 0.00 is close: it does not diverge, and does not agree.
What puts out nothing that could be compared, as a write into a tensor, has only its inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from builder.results.followers.rows import MergedRows, deepest_first
from builder.results.followers.states import SHOWN, states_of
from builder.results.followers.step import StepFollowers
from builder.results.node_words import Bools, Floats, Ints

Word = Literal[
    "none",
    "agrees",
    "close",
    "carries",
    "begins",
    "only_inputs",
    "cannot_tell",
    "only_problem",
    "only_benchmark",
    "differs",
    "heals",
]
WORDS: tuple[Word, ...] = get_args(Word)
_CODE = {word: code for code, word in enumerate(WORDS)}


@dataclass(frozen=True, slots=True)
class RowWords:
    """By row: the word as its place in WORDS, own score and state, the worst and sums below.

    `inside` says that the word is that of something below; `begins` are the causes that do not
    heal.
    """

    word: Ints
    inside: Bools
    score: Floats
    divergent: Bools
    alone: Bools
    worst_below: Floats
    divergent_below: Ints
    alone_below: Ints
    cause: Bools
    begins: Bools
    causes_below: Ints


def words_of(rows: MergedRows, causes: Sequence[int], threshold: float | None) -> RowWords:
    """The words of all rows; `threshold` is None where nothing was compared."""
    return row_words(StepFollowers(rows, states_of(rows, causes, threshold)))


def row_words(followers: StepFollowers) -> RowWords:
    """The words of the rows of a step and rank."""
    rows, states, healing = followers.rows, followers.states, followers.healing
    score, divergent, alone, cause = states.score, states.divergent, states.alone, states.cause
    divergent_below = rows.below(divergent.astype(np.int64))
    causes_below = rows.below(cause.astype(np.int64))
    begins = cause & ~healing
    begins_below = rows.below(begins.astype(np.int64)) > 0
    # Where both are, the beginning is what there is to see.
    is_beginning = begins | (begins_below & ~alone)
    known = ~np.isnan(score)
    agreeing = known | (rows.below(known.astype(np.int64)) > 0)
    reading = ~np.isnan(states.reads)
    only_inputs = reading | (rows.below(reading.astype(np.int64)) > 0)
    worst_below = _worst_below(rows, score)
    close = np.fmax(score, worst_below) >= SHOWN
    traced = followers.traced
    carries = traced | (rows.below(traced.astype(np.int64)) > 0)
    differs = divergent | (divergent_below > 0)
    word = np.select(
        [
            np.full(len(rows), np.isinf(states.threshold)),
            is_beginning,
            cause | ((causes_below > 0) & ~alone),
            alone & (rows.ours >= 0),
            alone,
            differs & carries,
            differs,
            close,
            agreeing,
            only_inputs,
        ],
        [
            _CODE[w]
            for w in (
                "none",
                "begins",
                "heals",
                "only_problem",
                "only_benchmark",
                "carries",
                "differs",
                "close",
                "agrees",
                "only_inputs",
            )
        ],
        default=_CODE["cannot_tell"],
    )
    return RowWords(
        word=word,
        inside=np.where(is_beginning, begins_below & ~begins, (causes_below > 0) & ~cause),
        score=score,
        divergent=divergent,
        alone=alone,
        worst_below=worst_below,
        divergent_below=divergent_below,
        alone_below=rows.below(alone.astype(np.int64)),
        cause=cause,
        begins=begins,
        causes_below=causes_below,
    )


def _worst_below(rows: MergedRows, score: Floats) -> Floats:
    known = np.where(np.isnan(score), -1.0, score)
    worst = np.full(len(rows), -1.0)
    for level in deepest_first(rows.parent):
        np.maximum.at(worst, rows.parent[level], np.maximum(worst[level], known[level]))
    return np.where(worst < 0, np.nan, worst)
