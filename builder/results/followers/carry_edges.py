"""Along which edges rows take a difference over from others: one list a step and rank.

Counts, lists and ways go by these edges alone, so that none of them knows a way that another does
not. Of each is known what kind it is and whether it is certain: what is recorded, follows from
autograd, or is the diagnosis' own word is; what was worked out around calls that left no values,
or by what is inside of a module, is one perhaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from builder.results.equal_numbers import ValueReader
from builder.results.flow_cells import SAID, FlowIds, PassageIds
from builder.results.followers.forward_twins import forward_twins
from builder.results.followers.rows import MergedRows
from builder.results.followers.states import RowStates
from builder.results.node_words import NOTHING, Bools, Ints
from builder.results.trace import Link

KINDS: tuple[Link, ...] = (
    "input",
    "inside",
    "forward",
    "cause",
    "weight",
    "returned",
    "fed",
    "guess",
)
INPUT, INSIDE, FORWARD, CAUSE, WEIGHT, RETURNED, FED, PASSED = range(len(KINDS))


@dataclass(frozen=True, slots=True)
class FlowEdges:
    """Which row put out what another read; `exact` where the dump says so, not equal values."""

    producer: Ints
    consumer: Ints
    exact: Bools


@dataclass(frozen=True, slots=True)
class Edges:
    """From rows to rows that take a difference over from them, with the place in KINDS."""

    start: Ints
    end: Ints
    kind: Ints
    certain: Bools

    def between(self, starts: Bools, ends: Bools) -> Edges:
        """Those that lead from some rows to some."""
        return self.taken(starts[self.start] & ends[self.end])

    def certain_ones(self) -> Edges:
        """Those that are no guesses."""
        return self.taken(self.certain)

    def taken(self, kept: Bools | Ints) -> Edges:
        """Some of them, by a flag each or by their places."""
        return Edges(self.start[kept], self.end[kept], self.kind[kept], self.certain[kept])


def edges(start: Ints, end: Ints, kind: int, certain: bool = True) -> Edges:
    """Edges of one kind; those with an end that is no row of this step and rank are left out."""
    start, end = np.asarray(start, dtype=np.int64), np.asarray(end, dtype=np.int64)
    known = (start != NOTHING) & (end != NOTHING)
    count = int(known.sum())
    kinds, sure = np.full(count, kind, dtype=np.int64), np.full(count, certain)
    return Edges(start[known], end[known], kinds, sure)


def joined(parts: Iterable[Edges]) -> Edges:
    """All of several lists as one."""
    none = edges(np.empty(0, np.int64), np.empty(0, np.int64), INPUT)
    cells = zip(*((p.start, p.end, p.kind, p.certain) for p in (none, *parts)), strict=True)
    return Edges(*(np.concatenate(column) for column in cells))


def flow_edges(rows: MergedRows, flows: Sequence[FlowIds]) -> FlowEdges:
    """The flow of the problem, and that of the benchmark where it has calls of its own."""
    producers, consumers, exact = [], [], []
    for side, (producer, consumer, sure) in enumerate(flows):
        start, end, known = _on_side(rows, producer, consumer, side)
        producers.append(start[known])
        consumers.append(end[known])
        exact.append(sure[known])
    none = np.empty(0, dtype=np.int64)
    return FlowEdges(
        np.concatenate([none, *producers]),
        np.concatenate([none, *consumers]),
        np.concatenate([none.astype(bool), *exact]),
    )


def _on_side(
    rows: MergedRows, producer: Ints, consumer: Ints, side: int
) -> tuple[Ints, Ints, Bools]:
    start, end = rows.rows_of(producer), rows.rows_of(consumer)
    known = (start != NOTHING) & (end != NOTHING)
    if side == 1 and len(rows.problem):
        alone = rows.ours < 0
        known &= alone[start] | alone[end]
    return start, end, known


def read_edges(flow: FlowEdges) -> Edges:
    """From who put something out to who read it, whether it differs or not."""
    return edges(flow.producer, flow.consumer, INPUT)


def row_edges(rows: MergedRows, laid: Ints) -> Edges:
    """From rows to the module around them, to their gradient, and by the diagnosis' own word."""
    every = np.arange(len(rows))
    anywhere = np.ones(len(rows), dtype=bool)
    parts = (
        edges(every, rows.parent, INSIDE),
        edges(*forward_twins(rows, anywhere, anywhere), FORWARD),
        edges(laid, every, CAUSE),
    )
    return joined(parts)


def passed_edges(rows: MergedRows, passages: Sequence[PassageIds]) -> Edges:
    """What passed through calls without values: certain where the dump says so, else perhaps."""
    parts = []
    for side, (producer, consumer, how, *_) in enumerate(passages):
        start, end, known = _on_side(rows, producer, consumer, side)
        said = how == SAID
        parts.append(edges(start[known & said], end[known & said], INPUT))
        parts.append(edges(start[known & ~said], end[known & ~said], PASSED, certain=False))
    return joined(parts)


def may_pass(states: RowStates, laid: Ints) -> Bools:
    """Rows that a difference is seen to pass through.

    It shows, is laid to something, or none is to tell, as of calls that one run alone makes.
    """
    named = states.cause | states.alone
    return np.asarray(states.differing | states.reading | (laid != NOTHING) | named)


def value_edges(rows: MergedRows, readers: Sequence[ValueReader], kind: int) -> Edges:
    """From who holds a value to who reads it, as equal numbers tell."""
    start = rows.rows_of(np.array([one.holder for one in readers], dtype=np.int64))
    end = rows.rows_of(np.array([one.reader for one in readers], dtype=np.int64))
    return edges(start, end, kind)


def unfed_inside(rows: MergedRows, module: int, unfed: Bools, kind: int) -> Edges:
    """From a module to what differs inside it and is fed by nothing that does: a guess."""
    end = np.flatnonzero(unfed[module + 1 : int(rows.last[module]) + 1]) + module + 1
    return edges(np.full(len(end), module), end, kind, certain=False)


def weight_edges(
    rows: MergedRows, holders: Iterable[int], readers: Sequence[ValueReader], unfed: Bools
) -> Edges:
    """From modules that a cause names for a weight to what reads it, as equal numbers tell.

    Where no numbers tell any, it is perhaps what differs inside and nothing that differs feeds.
    """
    read = value_edges(rows, readers, WEIGHT)
    untold = sorted({*holders} - {*read.start.tolist()})
    return joined([read, *(unfed_inside(rows, one, unfed, WEIGHT) for one in untold)])


def fed_edges(
    rows: MergedRows,
    flow: FlowEdges,
    modules: Sequence[int],
    readers: Sequence[ValueReader],
    unfed: Bools,
    divergent: Bools,
) -> Edges:
    """From modules that a cause names for what they are fed to what reads that inside of them.

    The call around a module that put out what it is fed agrees: from the module's row the
    difference comes in, and from there it leaves, to whoever reads what was put out inside.
    """
    read = value_edges(rows, readers, FED)
    within = (read.end > read.start) & (read.end <= rows.last[read.start])
    parts = [edges(read.start[within], read.end[within], FED)]
    for module in modules:
        if module not in read.start[within]:
            parts.append(unfed_inside(rows, module, unfed, FED))
        made = is_inside(rows, module, flow.producer) & divergent[flow.producer]
        end = np.unique(flow.consumer[made])
        end = end[~is_inside(rows, module, end) & (end != module)]
        parts.append(edges(np.full(len(end), module), end, INPUT))
    return joined(parts)


def is_inside(rows: MergedRows, module: int, chosen: Ints) -> Bools:
    """Which of some rows are below the row of a module."""
    return np.asarray((chosen > module) & (chosen <= rows.last[module]))


def rewritten_edges(flow: FlowEdges, states: RowStates, unfed: Bools) -> Edges:
    """From calls of one run alone to later ones that read what differs and was put out alike.

    Between who put it out, which agrees, and who read it something wrote into it, in one of the
    runs: that such a call did, a cause that is known, is a guess. It is the last one before.
    """
    writers = np.flatnonzero(states.cause & states.alone)
    put_out_alike = np.zeros(len(unfed), dtype=bool)
    put_out_alike[flow.consumer[states.score[flow.producer] <= states.threshold]] = True
    end = np.flatnonzero(put_out_alike & unfed & states.reading & ~states.alone)
    at = np.searchsorted(writers, end) - 1  # rows stand in order of execution
    return edges(writers[at[at >= 0]], end[at >= 0], PASSED, certain=False)


def fed_rows(flow: FlowEdges, carrying: Bools) -> Bools:
    """Rows that read what rows that carry a difference put out."""
    fed = np.zeros(len(carrying), dtype=bool)
    fed[flow.consumer[carrying[flow.producer]]] = True
    return fed
