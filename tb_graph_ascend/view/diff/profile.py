"""The whole pair as a strip over execution order: a few hundred bins, the worst score in each."""

from __future__ import annotations

import msgspec
import numpy as np

from builder.results.node_words import DIRECTIONS
from builder.results.records import Count
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.words import RowWords, by_row

MOST_BINS = 400


class Phase(msgspec.Struct, frozen=True):
    """Where a pass begins, as a bin."""

    name: str
    bin: Count


class Profile(msgspec.Struct, frozen=True):
    """Bins over all rows of a pair, closed or not.

    `rows` is how many rows there are; `worst` is null where no score is known; `causes` are bins
    in which something begins, `alone` those with calls of one side only.
    """

    rows: Count
    worst: list[float | None]
    causes: list[int]
    alone: list[int]
    phases: list[Phase]


def edges_of(rows: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The rows at which bins begin, and the end of the last."""
    bins = max(1, min(MOST_BINS, rows))
    return np.arange(bins + 1) * rows // bins


def profile_of(rows: MergedRows, words: RowWords) -> Profile:
    """The strip of a pair."""
    edges = edges_of(len(rows))
    if not len(rows):
        return Profile(0, [], [], [], [])
    leaf = rows.children == 0
    score = np.where(leaf & ~np.isnan(words.score), words.score, -1.0)
    worst = np.maximum.reduceat(score, edges[:-1])
    bin_of = np.searchsorted(edges, np.arange(len(rows)), "right") - 1
    alone = (words.word >= 5) & leaf
    return Profile(
        rows=len(rows),
        worst=[None if w < 0 else round(w, 4) for w in worst.tolist()],
        causes=np.unique(bin_of[words.cause]).tolist(),
        alone=np.unique(bin_of[alone]).tolist(),
        phases=_phases(rows, bin_of.tolist()),
    )


def _phases(rows: MergedRows, bin_of: list[int]) -> list[Phase]:
    """Passes as the top level has them, for what lies below a row belongs to its pass."""
    direction = by_row(rows, rows.problem.direction, rows.benchmark.direction)
    phases: list[Phase] = []
    for row in np.flatnonzero(rows.depth == 1).tolist():
        directions = direction[row : rows.last[row] + 1]
        directions = directions[directions >= 0]
        name: str = DIRECTIONS[int(directions[0])] if len(directions) else ""
        if _name(rows, row).lower().startswith("optimizer"):
            name = "optimizer"
        if name and (not phases or phases[-1].name != name):
            phases.append(Phase(name, bin_of[row]))
    if phases:
        phases[0] = Phase(phases[0].name, 0)
    return _few(phases)


def _name(rows: MergedRows, row: int) -> str:
    ours = int(rows.ours[row])
    return rows.problem.names[ours] if ours >= 0 else rows.benchmark.names[int(rows.theirs[row])]


def _few(phases: list[Phase]) -> list[Phase]:
    """Micro-steps alternate without end; where they do, nothing is marked beyond the first."""
    return phases if len(phases) <= 16 else phases[:1]
