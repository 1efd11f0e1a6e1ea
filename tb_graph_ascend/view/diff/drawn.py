"""The edges of a picture: recorded flow, what passed through calls without values, what ran next.

Rows go by `StepFollowers.edges`, along which differences are followed; a picture shows more than
may be followed, each edge with how it is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from builder.results.flow_cells import SAID, FlowIds, PassageIds
from builder.results.followers.rows import MergedRows
from builder.results.node_words import NOTHING, Bools, Ints
from tb_graph_ascend.view.diff.visible import VisibleRows

Known: TypeAlias = Literal["next", "order", "numbers", "values", "recorded"]
"""How an edge is known, the least certain first: it only ran next; shape and order of execution
fit; numbers add up; values are equal; the dump says so.
"""
KNOWN: tuple[Known, ...] = get_args(Known)
_NEXT, _ORDER, _NUMBERS, _VALUES, _RECORDED = range(len(KNOWN))


@dataclass(frozen=True, slots=True)
class DrawnEdges:
    """Edges between merged rows, with their place in KNOWN, and the id of the value that passes.

    `value` is NOTHING where no such value was recorded, or the producer has it itself.
    """

    producer: Ints
    consumer: Ints
    known: Ints
    value: Ints


def drawn_edges(
    rows: MergedRows, flows: Sequence[FlowIds], passages: Sequence[PassageIds]
) -> DrawnEdges:
    """All edges of a pair: the problem's, and the benchmark's at what only it has."""
    parts = [
        _own(rows, flow, passage, side)
        for side, (flow, passage) in enumerate(zip(flows, passages, strict=True))
    ]
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return DrawnEdges(none, none, none, none)
    return DrawnEdges(*(np.concatenate(cells) for cells in zip(*parts, strict=True)))


def _own(
    rows: MergedRows, flow: FlowIds, passage: PassageIds, side: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """The edges of one side; a passage takes the place of the edge that leads past its call."""
    producer, consumer, exact = flow
    through, reader, told, instead, value = passage
    span = int(max([0, *(ids.max() for ids in (*flow[:2], *passage[:2]) if len(ids))])) + 1
    kept = ~np.isin(producer * span + consumer, (instead * span + reader)[instead != NOTHING])
    producer = np.append(producer[kept], through)
    consumer = np.append(consumer[kept], reader)
    passed_by = np.array([_ORDER, _NUMBERS, _RECORDED])[np.clip(told, 0, SAID)]
    known = np.append(np.where(exact[kept], _RECORDED, _VALUES), passed_by)
    passed = np.append(np.full(int(kept.sum()), NOTHING), value)
    start, stop = rows.rows_of(producer), rows.rows_of(consumer)
    there = (start != NOTHING) & (stop != NOTHING)
    if side == 1 and len(rows.problem):
        alone = rows.ours < 0
        there &= alone[start] | alone[stop]
    return start[there], stop[there], known[there], passed[there]


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge between two places of a list.

    It stands for edges from the rows `first` to `last` at its producer; NOTHING where it only ran
    before. `value` is of the best known, which leads from `source`.
    """

    producer: int
    consumer: int
    known: Known
    value: int
    first: int = NOTHING
    last: int = NOTHING
    source: int = NOTHING


def arrows_of(rows: MergedRows, visible: VisibleRows, edges: DrawnEdges) -> list[Arrow]:
    """The edges between visible rows, each once and as it is known best."""
    open_module = visible.is_open & (rows.children > 0)
    ends = ~open_module[edges.producer] & ~open_module[edges.consumer]
    producer = visible.place[edges.producer[ends]]
    consumer = visible.place[edges.consumer[ends]]
    known, value = edges.known[ends], edges.value[ends]
    between = (producer != consumer) & (producer != NOTHING) & (consumer != NOTHING)
    keys = producer[between] * (len(visible) + 1) + consumer[between]
    order = np.lexsort((-known[between], keys))
    _, first = np.unique(keys[order], return_index=True)
    best = np.flatnonzero(between)[order[first]]
    sources = edges.producer[ends]
    listed = sources[between][order]
    return [
        Arrow(start, stop, KNOWN[how], passed, *of_rows)
        for start, stop, how, passed, *of_rows in zip(
            producer[best].tolist(),
            consumer[best].tolist(),
            known[best].tolist(),
            value[best].tolist(),
            np.minimum.reduceat(listed, first).tolist(),
            np.maximum.reduceat(listed, first).tolist(),
            sources[best].tolist(),
            strict=True,
        )
    ]


def producers_of(arrow: Arrow, visible: VisibleRows, edges: DrawnEdges) -> list[int]:
    """The rows at its producer that an arrow leads from."""
    if arrow.first == arrow.last:
        return [arrow.first]
    ends = visible.place[edges.producer] == arrow.producer
    ends &= visible.place[edges.consumer] == arrow.consumer
    return list(np.unique(edges.producer[ends]).tolist())


def next_arrows(
    shown: Sequence[int], parents: Sequence[int | None], lanes: Sequence[str], fed: Bools
) -> list[Arrow]:
    """To each place that nothing feeds from what ran before it, at its level and in its pass.

    `shown` are places in the order of execution, with what they stand in and their pass.
    """
    last: dict[tuple[int | None, str], int] = {}
    arrows: list[Arrow] = []
    for place, parent, lane, is_fed in zip(shown, parents, lanes, fed.tolist(), strict=True):
        before = last.get((parent, lane))
        if before is not None and not is_fed:
            arrows.append(Arrow(before, place, "next", NOTHING))
        last[parent, lane] = place
    return arrows


def fed_places(rows: MergedRows, visible: VisibleRows, edges: DrawnEdges) -> Bools:
    """By place: whether an edge leads to it from anywhere outside of it."""
    fed = np.zeros(len(visible), dtype=bool)
    row, start = edges.consumer, visible.place[edges.producer]
    # What feeds something in a box from outside of it feeds the box.
    while (row >= 0).any():
        inside = (edges.producer >= row) & (edges.producer <= rows.last[row])
        place = visible.place[row]
        outside = (row >= 0) & ~inside & (start != place)
        fed[place[outside & (place != NOTHING)]] = True
        row = np.where(row >= 0, rows.parent[row], NOTHING)
    return fed
