"""How far causes reach: of the divergent nodes of a step and rank, how many go back to which.

There is one such number, and everyone who tells it asks here: page, list, report, slide, and the
build, which puts it into the file for the command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from builder.results.certainty import names_beginnings
from builder.results.followers.named_causes import by_place
from builder.results.followers.reach import EARLIER
from builder.results.followers.states import SHOWN
from builder.results.followers.step import StepFollowers, step_followers
from builder.results.node_words import NOTHING, Ints
from builder.results.reading import Results
from builder.results.records import Count, Finding


class Spread(msgspec.Struct, frozen=True):
    """How far a cause reaches: how many nodes go back to it, how many perhaps, of how many.

    All three count divergent nodes of the problem run, over the steps and ranks where the cause
    has a place; a cause that diverges itself is one of its own.
    """

    certain: Count
    perhaps: Count
    divergent: Count

    def __add__(self, other: Spread) -> Spread:
        """Of places in two steps or ranks."""
        return Spread(
            self.certain + other.certain,
            self.perhaps + other.perhaps,
            self.divergent + other.divergent,
        )


NOWHERE = Spread(0, 0, 0)


def spread_of(here: StepFollowers, nodes: Iterable[int]) -> Spread:
    """How far a cause reaches in a step and rank, by its nodes there."""
    rows = _cause_rows(here, nodes)
    certain, perhaps = (int(counts[rows].sum()) for counts in here.counts)
    return Spread(certain, perhaps, here.divergent_count)


def worst_scores(
    results: Results, findings: Sequence[Finding], threshold: float
) -> dict[int, float | None]:
    """By the number of a finding the worst score that it brings about.

    That is its own where it is above the threshold. What hands on nothing that differs, or left no
    numbers, as a call that cuts a gradient off, has that of the worst node which goes back to it.
    """
    found = {one.id: one.score for one in findings}
    silent = [one for one in findings if one.score is None or one.score <= threshold]
    for (step, rank), placed in by_place(silent).items():
        here = step_followers(results, step, rank)
        for one in placed:
            rows = here.divergent_of(_cause_rows(here, one.nodes))
            scores = [float(score) for score in here.states.score[rows]]
            known = found[one.finding.id]
            found[one.finding.id] = max(
                [*scores, *([] if known is None else [known])], default=None
            )
    return found


def spreads(results: Results) -> dict[int, Spread]:
    """How far each finding of a file reaches, by its number: the sum over all of its places.

    What comes of weights is surely of a cause that all else is: a way to it leads through a step
    before, where a guess may lie on it, or, where nothing surely goes back to it, no way at all.
    Empty where the runs share too few calls for any to be named.
    """
    if not names_beginnings(results):
        return {}
    found: dict[int, Spread] = {}
    through: Counter[int] = Counter()
    findings = results.findings().findings
    alone = len(findings) == 1
    for (step, rank), placed in by_place(findings).items():
        here = step_followers(results, step, rank, placed)
        for one in placed:
            of = one.finding.id
            # Weights that differ before it begins are none of its doing.
            if alone and one.finding.step < step:
                through[of] += len(here.divergent_of(EARLIER))
            found[of] = found.get(of, NOWHERE) + spread_of(here, one.nodes)
    return {of: own + _through_weights(own, through[of]) for of, own in found.items()}


def _through_weights(own: Spread, count: int) -> Spread:
    others = own.divergent - own.certain - own.perhaps - count
    is_open = own.perhaps > 0 or (others > 0 and own.certain == 0)
    return Spread(0, count, 0) if is_open else Spread(count, 0, 0)


class CauseShare(msgspec.Struct, frozen=True):
    """How many divergent nodes go back to a cause, by its node, itself included, and perhaps."""

    node: int
    count: Count
    perhaps: Count = 0


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


class SameCause(msgspec.Struct, frozen=True):
    """What begins in an earlier `step`, at the node `first`, and jumps again at `node` here.

    What `comes_in` there from before it differs by a score that reads above 0.00.
    """

    node: int
    name: str
    step: int
    first: int
    comes_in: bool


class DivergentShares(msgspec.Struct, frozen=True):
    """The divergent nodes of a step and rank: those of each cause there, and those of none.

    Together they are all; `earlier` are those that go back to no cause here, but through weights
    to what the step before, `earlier_step`, wrote, and `perhaps` those that go back to a cause here
    through calls without values alone, which is a guess. `ahead` are those, of all,
    that run before the first cause here. `came` is null
    where no difference came in from another rank. Where no cause is here, `again` is one of an
    earlier step that shows here as well, else null.
    """

    divergent: Count
    causes: list[CauseShare]
    others: Count
    perhaps: Count = 0
    ahead: Count = 0
    earlier: Count = 0
    earlier_step: int | None = None
    came: CameIn | None = None
    again: SameCause | None = None


def shares_of(here: StepFollowers) -> DivergentShares:
    """Share out the divergent nodes of a pair."""
    rows = np.flatnonzero(here.states.cause)
    cells = (here.rows.key, *here.counts)
    columns = (cell[rows].tolist() for cell in cells)
    causes = [CauseShare(*row) for row in zip(*columns, strict=True)]
    divergent = here.divergent_count
    perhaps = sum(one.perhaps for one in causes)
    earlier = len(here.divergent_of(EARLIER))
    before = here.step_before[0] if earlier else None
    others = divergent - sum(one.count for one in causes) - perhaps - earlier
    ahead = _ahead(here, rows.tolist())
    came = _came(here)
    again = None if causes or came else _again(here)
    return DivergentShares(divergent, causes, others, perhaps, ahead, earlier, before, came, again)


def _again(here: StepFollowers) -> SameCause | None:
    """The first cause of an earlier step that jumps here anew.

    That what it names differs here too is no sign: all may, by the weights of the step before. It
    has to exceed all that ran before it in this step by what makes a node divergent, the threshold.
    """
    if not here.divergent_count:
        return None
    worst = np.fmax(here.states.score, here.states.reads)
    side = here.rows.problem
    order = np.where(here.rows.ours >= 0, side.order[np.maximum(here.rows.ours, 0)], -1)
    row_of = {side.names[at]: row for row, at in enumerate(here.rows.ours.tolist()) if at >= 0}
    for one in here.read.found_before():
        row = row_of.get(one.node.name) if one.node.side == "problem" else None
        if row is None or np.isnan(worst[row]):
            continue
        earlier = (order >= 0) & (order < order[row])
        earlier[row : int(here.rows.last[row]) + 1] = False
        before = np.nanmax(worst[earlier], initial=0.0)
        if worst[row] - before > here.states.threshold:
            key, comes_in = int(here.rows.key[row]), bool(before >= SHOWN)
            return SameCause(key, one.node.name, one.step, one.node.id, comes_in)
    return None


def _ahead(here: StepFollowers, causes: list[int]) -> int:
    """How many divergent nodes run before the first cause; all where no cause is the problem's."""
    problem, divergent = here.rows.problem, np.flatnonzero(here.states.divergent)
    places = [at for at in here.rows.ours[causes].tolist() if at >= 0]
    if not places:
        return len(divergent)
    return int((problem.order[here.rows.ours[divergent]] < problem.order[places].min()).sum())


def _came(here: StepFollowers) -> CameIn | None:
    if not here.received:
        return None
    first, side = here.received[0], here.rows.problem
    at = int(side.places(np.array([first.node], dtype=np.int64))[0])
    orders = side.order[here.rows.ours[np.flatnonzero(here.states.divergent)]]
    return CameIn(
        first.node,
        side.names[at],
        first.peer_rank,
        first.peer_node,
        len(here.received),
        int((orders < side.order[at]).sum()),
    )


def divergent_nodes(
    here: StepFollowers,
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
        rows = np.flatnonzero(here.states.cause)
    if places is not None:
        rows = _cause_rows(here, places)
    guessed = None if earlier else perhaps
    found = here.divergent_of(rows, guessed)
    # Calls end before the modules around them; what diverges has a node of the problem.
    order = here.rows.problem.order[here.rows.ours[found]] if len(found) else found
    return np.asarray(here.rows.key[found[np.argsort(order, kind="stable")]])


def _cause_rows(here: StepFollowers, nodes: Iterable[int]) -> Ints:
    """The rows of a cause by its nodes; of what is no cause here, none."""
    rows = np.unique(here.rows.rows_of(np.array(list(nodes), dtype=np.int64)))
    rows = rows[rows != NOTHING]
    return np.asarray(rows[here.states.cause[rows]])
