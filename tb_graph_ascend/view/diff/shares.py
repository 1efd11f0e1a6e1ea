"""How the divergent nodes of a step and rank are shared out among the causes that are there."""

from __future__ import annotations

import msgspec
import numpy as np

from builder.results.node_words import NOTHING, Ints
from builder.results.records import Count
from tb_graph_ascend.view.diff.index import DiffIndex


class CauseShare(msgspec.Struct, frozen=True):
    """How many divergent nodes go back to a cause, by its node; itself included."""

    node: int
    count: Count


class DivergentShares(msgspec.Struct, frozen=True):
    """The divergent nodes of a step and rank: those of each cause there, and those of none.

    Together they are all.
    """

    divergent: Count
    causes: list[CauseShare]
    others: Count


def shares_of(index: DiffIndex) -> DivergentShares:
    """Share out the divergent nodes of a pair."""
    rows = np.flatnonzero(index.words.cause).tolist()
    counts = [len(index.divergent_of(row)) for row in rows]
    divergent = int(index.words.divergent.sum())
    causes = [
        CauseShare(int(index.rows.key[row]), count) for row, count in zip(rows, counts, strict=True)
    ]
    return DivergentShares(divergent, causes, divergent - sum(counts))


def divergent_nodes(index: DiffIndex, cause: int | None) -> Ints:
    """The ids of the divergent nodes that go back to a cause, or to none, in execution order.

    Of a node that is no cause here there are none.
    """
    row = NOTHING
    if cause is not None:
        row = int(index.rows.rows_of(np.array([cause], dtype=np.int64))[0])
        if row == NOTHING or not index.words.cause[row]:
            return np.empty(0, dtype=np.int64)
    found = index.divergent_of(row)
    # Calls end before the modules around them; what diverges has a node of the problem.
    order = index.rows.problem.order[index.rows.ours[found]] if len(found) else found
    return np.asarray(index.rows.key[found[np.argsort(order, kind="stable")]])
