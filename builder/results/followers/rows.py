"""Lays both sides of a pair into one pre-order: a row a matched pair, what has no partner between.

Rows follow the problem's order of execution. What the benchmark alone has stands where it would
have run: behind the row of the sibling before it, or first below its parent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from builder.results.node_words import DIRECTIONS, NOTHING, Ints
from builder.results.side_nodes import SideNodes
from msprobe_core.format.names import of_any_pass

_GRADIENT = re.compile(r"\.(?:backward|parameters_grad)(\.\d+)?$")


@dataclass(frozen=True)
class MergedRows:
    """All rows in pre-order: indices into both sides, the parent's row, the last row below."""

    problem: SideNodes
    benchmark: SideNodes
    ours: Ints
    theirs: Ints
    parent: Ints
    last: Ints

    def __len__(self) -> int:
        return len(self.ours)

    @cached_property
    def key(self) -> Ints:
        """What a row goes by: the problem's node id, or the benchmark's where it stands alone."""
        ours = _taken(self.problem.id, self.ours)
        return np.where(self.ours >= 0, ours, _taken(self.benchmark.id, self.theirs))

    @cached_property
    def depth(self) -> Ints:
        """How many rows stand above each."""
        steps = np.zeros(len(self) + 1, dtype=np.int64)
        np.add.at(steps, np.arange(len(self)) + 1, 1)
        np.add.at(steps, self.last + 1, -1)
        return np.asarray(np.cumsum(steps)[:-1])

    @cached_property
    def children(self) -> Ints:
        """How many children each row has."""
        return np.bincount(self.parent[self.parent >= 0], minlength=len(self))

    @cached_property
    def forward_call(self) -> Ints:
        """By row of a gradient, of any pass, that of the call it belongs to; NOTHING for others.

        Both are found by the names of the problem run; by the benchmark's where that alone has it.
        """
        found = np.full(len(self), NOTHING, dtype=np.int64)
        alone = self.ours < 0
        for side, places in ((self.problem, self.ours), (self.benchmark, self.theirs)):
            rows = np.flatnonzero(places >= 0)
            if not len(rows):
                continue
            back = side.direction[places[rows]] == DIRECTIONS.index("backward")
            gradients = rows[back] if side is self.problem else rows[back & alone[rows]]
            names = side.names
            calls = [_forward_name(names[at]) for at in places[gradients].tolist()]
            wanted = set(calls)
            at = zip(rows[~back].tolist(), places[rows[~back]].tolist(), strict=True)
            row_of = {n: row for row, place in at if (n := names[place]) in wanted}
            found[gradients] = [row_of.get(call, NOTHING) for call in calls]
        return found

    def names_of(self, chosen: Ints) -> list[str]:
        """What the nodes of some rows are called; where both runs have them, in the problem run."""
        places, others = self.ours[chosen].tolist(), self.theirs[chosen].tolist()
        ours, theirs = self.problem.names, self.benchmark.names
        pairs = zip(places, others, strict=True)
        return [ours[at] if at >= 0 else theirs[other] for at, other in pairs]

    def rows_of(self, ids: Ints) -> Ints:
        """The rows of nodes of either side; NOTHING for those of other pairs."""
        ours, theirs = self.problem.places(ids), self.benchmark.places(ids)
        row_of_ours, row_of_theirs = self._row_of
        rows = np.where(ours >= 0, _taken(row_of_ours, ours), NOTHING)
        return np.where((ours < 0) & (theirs >= 0), _taken(row_of_theirs, theirs), rows)

    @cached_property
    def _row_of(self) -> tuple[Ints, Ints]:
        rows = np.arange(len(self))
        by_side = []
        for side, places in ((self.problem, self.ours), (self.benchmark, self.theirs)):
            row_of = np.full(len(side), NOTHING, dtype=np.int64)
            row_of[places[places >= 0]] = rows[places >= 0]
            by_side.append(row_of)
        return by_side[0], by_side[1]

    def overflow_below(self, of_problem: bool) -> Ints:
        """The worst overflow of a side below each row, as its place in LEVELS; NOTHING for none."""
        return self._overflow_below[0 if of_problem else 1]

    @cached_property
    def _overflow_below(self) -> tuple[Ints, Ints]:
        levels = deepest_first(self.parent)
        found = []
        for side, places in ((self.problem, self.ours), (self.benchmark, self.theirs)):
            own = np.where(places >= 0, _taken(side.overflow, places), NOTHING)
            worst = np.full(len(self), NOTHING, dtype=np.int64)
            if (own >= 0).any():
                for level in levels:
                    np.maximum.at(worst, self.parent[level], np.maximum(worst[level], own[level]))
            found.append(worst)
        return found[0], found[1]

    def below(self, flags: Ints) -> Ints:
        """The sum of a number over all rows below each row, its own left out."""
        sums = np.append(0, np.cumsum(flags))
        return np.asarray(sums[self.last + 1] - sums[np.arange(len(self)) + 1])


def merge(problem: SideNodes, benchmark: SideNodes) -> MergedRows:
    """One list of rows of both sides; either may be empty."""
    partner = _partners(problem, benchmark)
    row_of_partner = np.full(len(benchmark), NOTHING, dtype=np.int64)
    row_of_partner[partner[partner >= 0]] = np.flatnonzero(partner >= 0)
    alone = np.flatnonzero(row_of_partner < 0)
    anchor = _anchors(problem, benchmark, row_of_partner)[alone]
    order = np.argsort(anchor, kind="stable")
    alone, anchor = alone[order], anchor[order]
    problem_row = np.arange(len(problem)) + np.searchsorted(anchor, np.arange(len(problem)))
    alone_row = anchor + 1 + np.arange(len(alone))
    count = len(problem) + len(alone)
    ours, theirs = np.full(count, NOTHING), np.full(count, NOTHING)
    ours[problem_row], theirs[problem_row] = np.arange(len(problem)), partner
    theirs[alone_row] = alone
    benchmark_row = _taken(problem_row, row_of_partner)
    benchmark_row[alone] = alone_row
    parent = np.full(count, NOTHING)
    parent[problem_row] = _above(problem.parent, problem_row)
    parent[alone_row] = _above(benchmark.parent, benchmark_row)[alone]
    # What has lost its parent is shown below the first row rather than not at all.
    parent[1:] = np.where(parent[1:] < 0, 0, parent[1:])
    parent = np.where(parent < np.arange(count), parent, NOTHING)
    return MergedRows(problem, benchmark, ours, theirs, parent, last_below(parent))


def _forward_name(gradient: str) -> str:
    return of_any_pass(_GRADIENT.sub(r".forward\1", gradient))


def _partners(problem: SideNodes, benchmark: SideNodes) -> Ints:
    """The benchmark's index for each node of the problem, each used once."""
    partner = benchmark.places(problem.match)
    if len(problem) and len(benchmark):
        partner[0] = 0
    seen, first = np.unique(partner, return_index=True)
    once = np.full(len(partner), NOTHING, dtype=np.int64)
    once[first] = seen
    return once


def _anchors(problem: SideNodes, benchmark: SideNodes, row_of_partner: Ints) -> Ints:
    """The problem's index behind which each node of the benchmark stands, were it alone."""
    if not (row_of_partner < 0).any():
        return row_of_partner
    last = last_below(problem.parent).tolist()
    above, mine = problem.parent.tolist(), row_of_partner.tolist()
    anchors: list[int] = []
    reached: list[int] = []  # below each node so far: where its next child stands
    for index, parent in enumerate(benchmark.parent.tolist()):
        own = mine[index]
        if own < 0:
            anchors.append(reached[parent] if parent >= 0 else NOTHING)
        else:
            anchors.append(own)
            if parent >= 0 and above[own] == mine[parent] and own >= 0:
                reached[parent] = max(reached[parent], last[own])
        reached.append(anchors[index])
    return np.array(anchors, dtype=np.int64)


def last_below(parent: Ints) -> Ints:
    """The last row below each, itself where it has none; rows stand in pre-order."""
    last = np.arange(len(parent))
    for level in deepest_first(parent):
        np.maximum.at(last, parent[level], last[level])
    return last


def deepest_first(parent: Ints) -> list[Ints]:
    """The rows that have a parent, by depth, the deepest first; parents stand before their rows."""
    depth, above = (parent >= 0).astype(np.int64), parent.copy()
    while (above >= 0).any():
        # Twice as far up each time: `depth` counts the steps to where `above` is by now.
        known = above >= 0
        depth[known] += depth[above[known]]
        above[known] = above[above[known]]
    order = np.argsort(depth, kind="stable")
    starts = np.flatnonzero(np.diff(depth[order], prepend=0)) if len(order) else order
    return np.split(order, starts)[:0:-1]


def _above(parent: Ints, row_of: Ints) -> Ints:
    return np.where(parent >= 0, _taken(row_of, parent), NOTHING)


def _taken(cells: Ints, places: Ints) -> Ints:
    """Cells at places, where a negative place takes whatever there is."""
    if not len(cells):
        return np.full(len(places), NOTHING, dtype=np.int64)
    return np.asarray(cells[np.maximum(places, 0)])
