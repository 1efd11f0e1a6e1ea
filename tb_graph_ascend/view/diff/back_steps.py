"""The steps of one way back: from a row over what carries a difference to where it goes back to."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from builder.results.node_words import NOTHING, Bools, Floats, Ints
from tb_graph_ascend.view.diff.carrying import (
    CAUSE,
    FED,
    FORWARD,
    GUESS,
    INPUT,
    INSIDE,
    RETURNED,
    WEIGHT,
    CarryLinks,
)

# A way over what was recorded is told before one that jumps, and the more calls on it differ, the
# better: an input costs 2 less the score of who put it out. The numbers only order such ways.
_COST = {
    INPUT: 1.0,
    INSIDE: 1.0,
    WEIGHT: 1.0,
    FED: 1.0,
    FORWARD: 3.0,
    RETURNED: 3.0,
    GUESS: 20.0,
    CAUSE: 1000.0,
}
# What is read may differ by several inputs: the worst is what is off. Another one costs more by how
# much less it differs, and where that is plain, more than a jump from where no other link leads on.
_LESS_OFF, _PLAIN, _EARLY = 10.0, 0.25, 3.0


@dataclass(frozen=True, slots=True)
class Incoming:
    """Links by the row that they lead to: those into row n are at `heads[n]` to `heads[n + 1]`."""

    heads: Ints
    start: Ints
    kind: Ints


def incoming(links: CarryLinks, count: int) -> Incoming:
    """The links between so many rows, by where they lead."""
    order = np.argsort(links.end, kind="stable")
    heads = np.searchsorted(links.end[order], np.arange(count + 1))
    return Incoming(heads, links.start[order], links.kind[order])


@dataclass(frozen=True, slots=True)
class BackStep:
    """A row, and the kind of the link by which the row before took the difference over from it."""

    row: int
    kind: int


@dataclass(frozen=True, slots=True)
class Terrain:
    """Over what ways lead: links and, by row, scores and the order of execution."""

    links: Incoming
    score: Floats
    order: Ints


def steps_back(land: Terrain, row: int, through: Bools, goals: Iterable[int]) -> list[BackStep]:
    """The best way from a row to one of the goals over some rows, the row itself left out.

    Where there are no goals, or no way to one, it leads to what ran first of all that it can reach.
    """
    wanted, links = frozenset(goals), land.links
    came: dict[int, tuple[int, int]] = {}
    done: set[int] = set()
    waiting = [(0.0, row, NOTHING, NOTHING)]
    while waiting:
        cost, here, before, kind = heapq.heappop(waiting)
        if here in done:
            continue
        done.add(here)
        came[here] = (before, kind)
        if here in wanted:
            return _steps(came, here)
        ways = range(int(links.heads[here]), int(links.heads[here + 1]))
        steps = [BackStep(int(links.start[at]), int(links.kind[at])) for at in ways]
        steps = [one for one in steps if through[one.row] or one.row in wanted]
        worst = max((_known(land, one, 0.0) for one in steps if one.kind == INPUT), default=0.0)
        for one in steps:
            if one.row not in done:
                less_off = worst - _known(land, one, worst)
                price = cost + _cost(one.kind, _known(land, one, 0.0), less_off)
                if one.kind == CAUSE and any(other.kind != CAUSE for other in steps):
                    price += _EARLY * _COST[CAUSE]
                heapq.heappush(waiting, (price, one.row, here, one.kind))
    return _steps(came, min(done, key=lambda one: (int(land.order[one]), one)))


def _known(land: Terrain, step: BackStep, unknown: float) -> float:
    score = float(land.score[step.row])
    return unknown if np.isnan(score) else score


def _cost(kind: int, score: float, less_off: float) -> float:
    if kind != INPUT:
        return _COST[kind]
    dodged = _COST[CAUSE] if less_off > _PLAIN else 0.0
    return _COST[INPUT] + 1.0 - score + _LESS_OFF * less_off + dodged


def _steps(came: dict[int, tuple[int, int]], end: int) -> list[BackStep]:
    steps: list[BackStep] = []
    row = end
    while (link := came[row])[0] != NOTHING:
        steps.append(BackStep(row, link[1]))
        row = link[0]
    return steps[::-1]
