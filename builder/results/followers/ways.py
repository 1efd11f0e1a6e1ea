"""The best way from a row back to where it goes back to, and all rows on the ways between two."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from builder.results.followers.carry_edges import CAUSE, FORWARD, INPUT, RETURNED, Edges
from builder.results.followers.reach import links_of, reached
from builder.results.followers.rows import MergedRows
from builder.results.node_words import NOTHING, Bools, Floats, Ints

# A way over what was recorded is told before one that jumps, and the more calls on it differ, the
# better: an input costs 2 less the score of who put it out. The numbers only order such ways.
_NEAR, _GUESSED = 1.0, 20.0
_COST = {FORWARD: 3.0, RETURNED: 3.0, CAUSE: 1000.0}
# What is read may differ by several inputs: the worst is what is off. Another one costs more by how
# much less it differs, and where that is plain, more than a jump from where no other link leads on.
_LESS_OFF, _PLAIN, _EARLY = 10.0, 0.25, 3.0


@dataclass(frozen=True, slots=True)
class Incoming:
    """Edges by the row that they lead to: those into row n are at `heads[n]` to `heads[n + 1]`."""

    heads: Ints
    edges: Edges


def incoming(edges: Edges, count: int) -> Incoming:
    """The edges between so many rows, by where they lead."""
    order = np.argsort(edges.end, kind="stable")
    heads = np.searchsorted(edges.end[order], np.arange(count + 1))
    return Incoming(heads, edges.taken(order))


@dataclass(frozen=True, slots=True)
class BackStep:
    """A row, and how the row before took the difference over from it."""

    row: int
    kind: int
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Terrain:
    """Over what ways lead: edges and, by row, scores and the order of execution."""

    edges: Incoming
    score: Floats
    order: Ints

    def into(self, row: int) -> list[BackStep]:
        """The steps that lead back from a row."""
        part = self.edges.edges
        at = range(int(self.edges.heads[row]), int(self.edges.heads[row + 1]))
        return [BackStep(int(part.start[i]), int(part.kind[i]), bool(part.certain[i])) for i in at]


def steps_back(land: Terrain, row: int, through: Bools, goals: Iterable[int]) -> list[BackStep]:
    """The best way from a row to one of the goals over some rows, the row itself left out.

    Where there are no goals, or no way to one, it leads to what ran first of all that it can reach.
    """
    wanted = frozenset(goals)
    came: dict[int, tuple[int, BackStep | None]] = {}
    waiting: list[tuple[float, int, int, int, bool]] = [(0.0, row, NOTHING, NOTHING, True)]
    while waiting:
        cost, here, before, kind, certain = heapq.heappop(waiting)
        if here in came:
            continue
        came[here] = (before, BackStep(here, kind, certain) if before != NOTHING else None)
        if here in wanted:
            return _steps(came, here)
        steps = [one for one in land.into(here) if through[one.row] or one.row in wanted]
        for one, price in zip(steps, _prices(land, steps), strict=True):
            if one.row not in came:
                heapq.heappush(waiting, (cost + price, one.row, here, one.kind, one.certain))
    return _steps(came, min(came, key=lambda one: (int(land.order[one]), one)))


def _prices(land: Terrain, steps: Sequence[BackStep]) -> list[float]:
    """What each of the steps from one row costs."""
    read = [one for one in steps if one.kind == INPUT]
    worst = max((_known(land, one, 0.0) for one in read), default=0.0)
    others = any(one.kind != CAUSE for one in steps)
    return [
        _price(land, one, worst) + _EARLY * _COST[CAUSE] * (one.kind == CAUSE and others)
        for one in steps
    ]


def _price(land: Terrain, step: BackStep, worst: float) -> float:
    if not step.certain:
        return _GUESSED
    if step.kind != INPUT:
        return _COST.get(step.kind, _NEAR)
    less_off = worst - _known(land, step, worst)
    dodged = _COST[CAUSE] if less_off > _PLAIN else 0.0
    return _NEAR + 1.0 - _known(land, step, 0.0) + _LESS_OFF * less_off + dodged


def _known(land: Terrain, step: BackStep, unknown: float) -> float:
    score = float(land.score[step.row])
    return unknown if np.isnan(score) else score


def _steps(came: dict[int, tuple[int, BackStep | None]], end: int) -> list[BackStep]:
    steps: list[BackStep] = []
    row, step = end, came[end][1]
    while step is not None:
        steps.append(step)
        row = came[row][0]
        step = came[row][1]
    return steps[::-1]


def off_the_way(
    rows: MergedRows, edges: Edges, through: Bools, causes: Sequence[int], target: int
) -> Bools:
    """Which rows are neither on a way from the causes to the target nor above one that is.

    A way leads over some rows alone.
    """
    start, end = _inside(rows, causes), _inside(rows, [target])
    edges = edges.between(through | start | end, through | start | end)
    ahead = _reached(edges.start, edges.end, start)
    back = _reached(edges.end, edges.start, end)
    on = (ahead & back) | start | end
    above = rows.below(on.astype(np.int64)) > 0
    return np.asarray(~(on | above))


def _inside(rows: MergedRows, chosen: Sequence[int]) -> Bools:
    inside = np.zeros(len(rows), dtype=bool)
    for row in chosen:
        inside[row : rows.last[row] + 1] = True
    return inside


def _reached(source: Ints, target: Ints, start: Bools) -> Bools:
    """All rows that can be reached along links, the start included."""
    flags = np.zeros(len(start), dtype=bool)
    links = links_of(source, target, len(start))
    flags[list(reached(links, np.flatnonzero(start).tolist(), [True] * len(start)))] = True
    return flags
