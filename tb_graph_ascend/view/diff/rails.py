"""What flows between the rows of a list: one rail an output, from its row to those that read it."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from builder.results.followers.carry_edges import FlowEdges
from builder.results.followers.rows import MergedRows
from builder.results.node_words import NOTHING, Bools, Ints
from tb_graph_ascend.view.diff.visible import VisibleRows

# Lane 0 is for what the next row reads; what is more than these share the last one.
MOST_LANES = 8


@dataclass(frozen=True, slots=True)
class Rails:
    """Edges between visible rows by producer, then consumer; `lane` is that of the producer."""

    producer: Ints
    consumer: Ints
    exact: Bools
    lane: Ints

    def within(self, first: int, stop: int, most: int) -> Ints:
        """The places of the edges that pass through or end in a window of rows, shortest first."""
        low, high = (
            np.minimum(self.producer, self.consumer),
            np.maximum(self.producer, self.consumer),
        )
        touching = np.flatnonzero((low < stop) & (high >= first))
        length = (high - low)[touching]
        return np.sort(touching[np.argsort(length, kind="stable")[:most]])


def rails_of(rows: MergedRows, visible: VisibleRows, edges: FlowEdges) -> Rails:
    """The rails of a list; what flows inside a closed row has none."""
    open_module = visible.is_open & (rows.children > 0)
    # Calls inside an open module read and make its values themselves.
    ends = ~open_module[edges.producer] & ~open_module[edges.consumer]
    producer = visible.place[edges.producer[ends]]
    consumer = visible.place[edges.consumer[ends]]
    between = (producer != consumer) & (producer != NOTHING) & (consumer != NOTHING)
    count = len(visible) + 1
    # An edge of several values is exact when one of them is.
    keys = producer[between] * count + consumer[between]
    unique, place = np.unique(keys, return_inverse=True)
    exact = np.zeros(len(unique), dtype=bool)
    np.logical_or.at(exact, place, edges.exact[ends][between])
    producer, consumer = unique // count, unique % count
    return Rails(producer, consumer, exact, _lanes(producer, consumer))


def _lanes(producer: Ints, consumer: Ints) -> Ints:
    """A lane for each producer such that rails in one lane do not overlap, as far as there are."""
    if not len(producer):
        return producer
    starts = np.flatnonzero(np.append(True, producer[1:] != producer[:-1]))
    top = np.minimum(np.minimum.reduceat(consumer, starts), producer[starts])
    end = np.maximum(np.maximum.reduceat(consumer, starts), producer[starts])
    lane = np.zeros(len(starts), dtype=np.int64)
    long = np.flatnonzero(end - top > 1)
    order = np.argsort(top[long], kind="stable")
    lane[long[order]] = _greedy(top[long][order].tolist(), end[long][order].tolist())
    return np.repeat(lane, np.diff(np.append(starts, len(producer))))


def _greedy(top: list[int], end: list[int]) -> list[int]:
    """The lanes of rails that are ordered by where they begin."""
    free = list(range(1, MOST_LANES))
    busy: list[tuple[int, int]] = []
    lanes: list[int] = []
    for first, last in zip(top, end, strict=True):
        while busy and busy[0][0] <= first:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane = heapq.heappop(free) if free else MOST_LANES
        lanes.append(lane)
        if lane < MOST_LANES:
            heapq.heappush(busy, (last, lane))
    return lanes
