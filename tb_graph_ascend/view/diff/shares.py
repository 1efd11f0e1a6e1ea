"""How the divergent nodes of a step and rank are shared out among the causes that are there."""

from __future__ import annotations

from collections.abc import Sequence

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


def divergent_nodes(index: DiffIndex, places: Sequence[int] | None) -> Ints:
    """The ids of the divergent nodes that go back to any place of a cause, in execution order.

    With None it is those that go back to no cause. Of a node that is no cause here there are none.
    """
    rows = np.array([NOTHING], dtype=np.int64)
    if places is not None:
        rows = np.unique(index.rows.rows_of(np.array(places, dtype=np.int64)))
        rows = rows[rows != NOTHING]
        rows = rows[index.words.cause[rows]]
    found = index.divergent_of(rows)
    # Calls end before the modules around them; what diverges has a node of the problem.
    order = index.rows.problem.order[index.rows.ours[found]] if len(found) else found
    return np.asarray(index.rows.key[found[np.argsort(order, kind="stable")]])
