"""One open module as a graph: its rows as boxes, what flows between them as edges."""

from __future__ import annotations

import msgspec
import numpy as np

from builder.results.reading import Results
from builder.results.records import Count, FirstOutput
from tb_graph_ascend.view.diff.index import DiffIndex, Wanted
from tb_graph_ascend.view.diff.window import DiffRow, row_at

# More boxes than these nobody reads; the rows have no such end.
MOST_BOXES = 150


class GraphBox(msgspec.Struct, frozen=True, gc=False):
    """A row as a box; `parent` is the place of the open box that it stands in, null at the top.

    `output` is the first that it puts out, on the problem's side where it has one.
    """

    place: Count
    parent: Count | None
    row: DiffRow
    output: FirstOutput | None


class GraphEdge(msgspec.Struct, frozen=True, gc=False):
    """What one box put out and another read, by their places."""

    producer: Count
    consumer: Count
    exact: bool


class ModuleGraph(msgspec.Struct, frozen=True):
    """A module with what is directly in it, and in the boxes that are open.

    `above` is the module that it stands in; `left_out` counts boxes beyond the first of them.
    """

    module: DiffRow
    above: int | None
    boxes: list[GraphBox]
    edges: list[GraphEdge]
    left_out: Count


def graph_of(results: Results, index: DiffIndex, module: int, opened: list[int]) -> ModuleGraph:
    """The graph of the module that a node is, or stands in; `opened` boxes show what is in them."""
    row = _module_row(index, module)
    above = [*index.above(row), row]
    keys = [str(index.rows.key[up]) for up in above] + [str(one) for one in opened]
    listed = index.listed(Wanted(".".join(keys)))
    visible = listed.visible
    last = int(index.rows.last[row])
    places = [
        place
        for place in range(len(visible))
        if row < visible.row[place] <= last and visible.fold[place] >= 0
    ]
    shown = places[:MOST_BOXES]
    boxes = [row_at(index, visible, place) for place in shown]
    place_of = {int(visible.row[place]): place for place in shown}
    outputs = results.first_outputs([box.key for box in boxes])
    kept = set(shown)
    return ModuleGraph(
        module=row_at(index, visible, int(visible.place[row])),
        above=int(index.rows.key[above[-2]]) if len(above) > 1 else None,
        boxes=[
            GraphBox(
                place,
                place_of.get(int(index.rows.parent[visible.row[place]])),
                box,
                outputs.get(box.key),
            )
            for place, box in zip(shown, boxes, strict=True)
        ],
        edges=[
            GraphEdge(producer, consumer, bool(exact))
            for producer, consumer, exact in zip(
                listed.rails.producer.tolist(),
                listed.rails.consumer.tolist(),
                listed.rails.exact.tolist(),
                strict=True,
            )
            if producer in kept and consumer in kept
        ],
        left_out=len(places) - len(shown),
    )


def _module_row(index: DiffIndex, node: int) -> int:
    """The row of a node where something is in it, else that of what it stands in."""
    rows = index.rows
    row = max(0, int(rows.rows_of(np.array([node], dtype=np.int64))[0]))
    return row if rows.children[row] or rows.parent[row] < 0 else int(rows.parent[row])
