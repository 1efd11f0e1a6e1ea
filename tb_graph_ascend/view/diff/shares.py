"""How the divergent nodes of a step and rank are shared out among the causes that are there."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from builder.results.node_words import NOTHING, Ints
from builder.results.records import Count
from tb_graph_ascend.view.diff.index import DiffIndex
from tb_graph_ascend.view.diff.led_back import EARLIER


class CauseShare(msgspec.Struct, frozen=True):
    """How many divergent nodes go back to a cause, by its node; itself included."""

    node: int
    count: Count


class CameIn(msgspec.Struct, frozen=True):
    """The first call by which a difference came in from another rank, and its call there.

    `calls` is the number of such calls, `before` that of divergent nodes which run before it.
    """

    node: int
    name: str
    peer_rank: int
    peer_node: int
    calls: Count
    before: Count


class DivergentShares(msgspec.Struct, frozen=True):
    """The divergent nodes of a step and rank: those of each cause there, and those of none.

    Together they are all; `earlier` are those that go back to no cause here, but through weights
    to what the step before, `earlier_step`, wrote, and `perhaps` those that go back to a cause here
    through calls without values alone, which is a guess. `ahead` are those, of all,
    that run before the first cause here. `came` is null
    where no difference came in from another rank.
    """

    divergent: Count
    causes: list[CauseShare]
    others: Count
    perhaps: Count = 0
    ahead: Count = 0
    earlier: Count = 0
    earlier_step: int | None = None
    came: CameIn | None = None


def shares_of(index: DiffIndex) -> DivergentShares:
    """Share out the divergent nodes of a pair."""
    rows = np.flatnonzero(index.words.cause).tolist()
    sure = index.words.divergent & ~index.led_back.perhaps
    found = np.unique(index.led_back.cause[sure], return_counts=True)
    count_of = dict(zip(*(part.tolist() for part in found), strict=True))
    counts = [count_of.get(row, 0) for row in rows]
    perhaps = len(index.divergent_of(np.array(rows, dtype=np.int64), perhaps=True))
    divergent = int(index.words.divergent.sum())
    causes = [
        CauseShare(int(index.rows.key[row]), count) for row, count in zip(rows, counts, strict=True)
    ]
    earlier = len(index.divergent_of(EARLIER))
    before = index.step_before[0] if earlier else None
    others = divergent - sum(counts) - perhaps - earlier
    ahead = _ahead(index, rows)
    return DivergentShares(divergent, causes, others, perhaps, ahead, earlier, before, _came(index))


def _ahead(index: DiffIndex, causes: list[int]) -> int:
    """How many divergent nodes run before the first cause; all where no cause is the problem's."""
    problem, divergent = index.rows.problem, np.flatnonzero(index.words.divergent)
    places = [at for at in index.rows.ours[causes].tolist() if at >= 0]
    if not places:
        return len(divergent)
    return int((problem.order[index.rows.ours[divergent]] < problem.order[places].min()).sum())


def _came(index: DiffIndex) -> CameIn | None:
    if not index.received:
        return None
    first, side = index.received[0], index.rows.problem
    at = int(side.places(np.array([first.node], dtype=np.int64))[0])
    orders = side.order[index.rows.ours[np.flatnonzero(index.words.divergent)]]
    return CameIn(
        first.node,
        side.names[at],
        first.peer_rank,
        first.peer_node,
        len(index.received),
        int((orders < side.order[at]).sum()),
    )


def divergent_nodes(
    index: DiffIndex,
    places: Sequence[int] | None,
    earlier: bool = False,
    perhaps: bool = False,
) -> Ints:
    """The ids of the divergent nodes that go back to any place of a cause, in execution order.

    With None it is those that go back to none, or, if `earlier`, into the step before, or, if
    `perhaps`, by a guess to any cause here. Of a node that is no cause here there are none.
    """
    rows = np.array([EARLIER if earlier else NOTHING], dtype=np.int64)
    if perhaps and places is None:
        rows = np.flatnonzero(index.words.cause)
    if places is not None:
        rows = np.unique(index.rows.rows_of(np.array(places, dtype=np.int64)))
        rows = rows[rows != NOTHING]
        rows = rows[index.words.cause[rows]]
    guessed = None if earlier else perhaps
    found = index.divergent_of(rows, guessed)
    # Calls end before the modules around them; what diverges has a node of the problem.
    order = index.rows.problem.order[index.rows.ours[found]] if len(found) else found
    return np.asarray(index.rows.key[found[np.argsort(order, kind="stable")]])
