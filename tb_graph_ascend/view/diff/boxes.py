"""One open module as a graph: its rows as boxes, what flows between them as edges."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from builder.flow.silent_calls import work_named
from builder.results.database import ResultDatabase
from builder.results.followers.rows import MergedRows
from builder.results.node_words import DIRECTIONS, KINDS, NOTHING
from builder.results.reading import ReadsValues, Results
from builder.results.records import Count, FirstOutput
from tb_graph_ascend.view.diff.drawn import (
    Arrow,
    Known,
    arrows_of,
    fed_places,
    next_arrows,
    producers_of,
)
from tb_graph_ascend.view.diff.index import DiffIndex, Wanted
from tb_graph_ascend.view.diff.row_sources import DrawnRows, HasRows
from tb_graph_ascend.view.diff.run_inputs import (
    GraphInput,
    input_readers,
    inputs_of,
    unmade_by_node,
    unsure_rows,
)
from tb_graph_ascend.view.diff.visible import VisibleRows
from tb_graph_ascend.view.diff.window import DiffRow, last_key, row_at
from tb_graph_ascend.view.module_path import entry_of, module_path

Lane: TypeAlias = Literal["forward", "backward", "after"]
"""Which pass a box belongs to; what runs behind the last backward pass has a lane of its own."""

# More boxes than these nobody reads; the rows have no such end.
MOST_BOXES = 150
# Calls between modules up to this many stand by themselves; more are one box that opens.
_FEW_CALLS = 4
_FEWEST_REPEATS = 2
# Of repeats that an edge leaves, so many are named at it.
_MOST_LEFT = 3
# Of what is not drawn, so many names are told.
_MOST_NAMES = 20
GRADIENTS = ".parameters_grad."
_COLLECTION = KINDS.index("collection")
_BACKWARD = DIRECTIONS.index("backward")


class Repeats(msgspec.Struct, frozen=True, gc=False):
    """That a module holds so many modules of one class one after the other, as a list does."""

    count: Count
    type_name: str


class GraphBox(msgspec.Struct, frozen=True, gc=False):
    """A row as a box; `parent` is the place of the open box that it stands in, null at the top.

    `output` is the first that it puts out, on the problem's side where it has one; of repeats the
    last one's, which goes on. `unrecorded` says that the dump holds a call's name alone; its output
    is then what its reader has seen. `weights` are the shapes of its own parameters, where a file
    of ours has them.
    """

    place: Count
    parent: Count | None
    lane: Lane
    row: DiffRow
    output: FirstOutput | None
    unrecorded: bool
    weights: list[list[int]]
    repeats: Repeats | None


class Leaves(msgspec.Struct, frozen=True, gc=False):
    """Which of several repeats an edge leaves, by their modules' paths, and what passes.

    `names` are the first of them, in their order; `count` how many they are.
    """

    names: list[str]
    count: Count
    output: FirstOutput | None


class GraphEdge(msgspec.Struct, frozen=True, gc=False):
    """What one box put out and another read, by their places, and how that is known.

    `leaves` is null but for an edge from repeats that others than the last of them alone feed.
    """

    producer: Count
    consumer: Count
    known: Known
    leaves: Leaves | None


class ModuleGraph(msgspec.Struct, frozen=True):
    """A module with what is directly in it, and in the boxes that are open.

    `above` is the module that it stands in; `left_out` counts boxes before and behind those that
    are shown, `unplaced` calls that only reshape, left no values, and of which nothing tells what
    they read, `gradients` those of parameters that no recorded backward call holds, some of them
    named in `gradient_names`. The whole model has `inputs`.
    """

    module: DiffRow
    above: int | None
    boxes: list[GraphBox]
    edges: list[GraphEdge]
    left_out: Count
    unplaced: Count
    gradients: Count
    gradient_names: list[str]
    inputs: list[GraphInput]


def graph_of(results: Results, index: DiffIndex, module: int, opened: list[int]) -> ModuleGraph:
    """The graph of the module that a node is, or stands in; `opened` boxes show what is in them.

    Of more boxes than `MOST_BOXES` those around the node are shown; the first ones for the module.
    """
    rows = index.rows
    row = _module_row(rows, module)
    above = [*index.above(row), row]
    few = _few_calls(rows, row)
    keys = [*rows.key[above].tolist(), *opened, *rows.key[few].tolist()]
    visible = index.listed(Wanted(".".join(map(str, keys)))).visible
    arrows = arrows_of(rows, visible, index.drawn)
    places = _places_in(rows, visible, row, set(few))
    first = _first_shown(rows, visible, places, module)
    silent = unrecorded(results, index, visible, places[first : first + 2 * MOST_BOXES])
    ends = {end for one in arrows for end in (one.producer, one.consumer)}
    loose = {at for at in silent - ends if reshapes(row_at(index, visible, at))}
    lone = _lone_gradients(rows, visible, row, set(places) - ends) if arrows else []
    placed = [place for place in places if place not in loose and place not in lone]
    begin = bisect_left(placed, places[first]) if first else 0
    shown = _with_holders(rows, visible, placed, placed[begin : begin + MOST_BOXES])
    boxes = [row_at(index, visible, place) for place in shown]
    place_of = {int(visible.row[place]): place for place in shown}
    parents = [place_of.get(int(rows.parent[visible.row[place]])) for place in shown]
    earlier = (int(visible.row[place]) for place in reversed(placed[:begin]))
    lanes = _lanes(rows, visible, shown, parents, earlier)
    kept = set(shown)
    arrows = [one for one in arrows if one.producer in kept and one.consumer in kept]
    fed = fed_places(rows, visible, index.drawn)[shown]
    spoken = {box.key: last_key(index, box) for box in boxes}
    of_last = results.first_outputs(list(spoken.values()))
    outputs = {key: of_last[last] for key, last in spoken.items() if last in of_last}
    outputs |= _seen(results, arrows, boxes, shown)
    leaves = _leaves(results, index, visible, arrows)
    key_of = dict(zip(shown, (box.key for box in boxes), strict=True))
    weights = weights_of(results, boxes)
    # What stands nowhere may have handed on what looks as if nothing had put it out.
    unsure = unsure_rows(index.drawn, len(rows))[visible.row[shown]] | bool(loose)
    fed_by_run = input_readers(shown, parents, lanes, fed, unsure) if len(above) == 1 else []
    # Calls between modules may lie on both sides of where the backward pass begins.
    forward = [at for at in fed_by_run if not runs_backward(rows, int(visible.row[at]))]
    readers = [(at, key_of[at]) for at in forward]
    unmade = unmade_by_node(results, index.drawn, [node for _, node in readers])
    return ModuleGraph(
        module=row_at(index, visible, int(visible.place[row])),
        above=int(rows.key[above[-2]]) if len(above) > 1 else None,
        boxes=[
            GraphBox(
                place,
                parent,
                lane,
                box,
                outputs.get(box.key),
                place in silent,
                weights.get(box.key, []),
                repeats_in(rows, int(visible.row[place])),
            )
            for place, parent, lane, box in zip(shown, parents, lanes, boxes, strict=True)
        ],
        edges=[
            GraphEdge(one.producer, one.consumer, one.known, leaves.get(one))
            for one in (*arrows, *next_arrows(shown, parents, lanes, fed))
        ],
        left_out=len(placed) - len(shown),
        unplaced=len(loose),
        gradients=sum(max(1, abs(int(visible.fold[place]))) for place in lone),
        gradient_names=[module_at(rows, int(visible.row[at])) for at in lone[:_MOST_NAMES]],
        inputs=inputs_of(readers, unmade),
    )


def _leaves(
    results: ReadsValues, index: DrawnRows, visible: VisibleRows, arrows: list[Arrow]
) -> dict[Arrow, Leaves]:
    """Of edges from repeats that leave others than the last alone, which ones."""
    rows = index.rows
    left: dict[Arrow, list[int]] = {}
    for one in arrows:
        count = int(visible.fold[one.producer])
        if count <= 0 or one.first < 0:
            continue
        run = index.runs.of(int(visible.row[one.producer]))
        start = run.index(int(visible.row[one.producer]))
        members = run[start : start + count]
        feeding = producers_of(one, visible, index.drawn)
        places = sorted({bisect_right(members, row) - 1 for row in feeding})
        if places != [count - 1]:
            left[one] = [members[at] for at in places]
    # What leaves a call without values is what the module around it puts out.
    ends = [row for one, members in left.items() for row in (one.source, members[-1])]
    outputs = results.first_outputs([int(rows.key[row]) for row in ends])
    return {
        one: Leaves(
            [module_at(rows, member) for member in members[:_MOST_LEFT]],
            len(members),
            outputs.get(int(rows.key[one.source])) or outputs.get(int(rows.key[members[-1]])),
        )
        for one, members in left.items()
    }


def weights_of(results: Results, boxes: list[DiffRow]) -> dict[int, list[list[int]]]:
    """The shapes of the parameters of modules that run forward, by the key of their row."""
    if not isinstance(results, ResultDatabase):
        return {}
    sides = {box.key: box.problem or box.benchmark for box in boxes if box.kind == "module"}
    of_node = {side.id: key for key, side in sides.items() if side is not None}
    shapes = results.parameter_shapes(list(of_node))
    return {of_node[id_]: [list(shape) for shape in found] for id_, found in shapes.items()}


def repeats_in(rows: MergedRows, row: int) -> Repeats | None:
    """What a module holds as a list of modules of one class does; None for all others."""
    if rows.children[row] < _FEWEST_REPEATS:
        return None
    inside = np.arange(row + 1, rows.last[row] + 1)
    counts: dict[str, int] = {}
    for child in inside[rows.parent[inside] == row].tolist():
        ours, theirs = int(rows.ours[child]), int(rows.theirs[child])
        side, at = (rows.problem, ours) if ours >= 0 else (rows.benchmark, theirs)
        entry = entry_of(side.names[at])
        if entry is None or entry.kind == "api" or not entry.path.rpartition(".")[2].isdecimal():
            continue
        counts[entry.type_name] = counts.get(entry.type_name, 0) + 1
    if len(counts) != 1:
        return None
    ((type_name, count),) = counts.items()
    return Repeats(count, type_name) if count >= _FEWEST_REPEATS else None


def module_at(rows: MergedRows, row: int) -> str:
    """The path of a row's module, else its name."""
    ours, theirs = int(rows.ours[row]), int(rows.theirs[row])
    side, at = (rows.problem, ours) if ours >= 0 else (rows.benchmark, theirs)
    return module_path(side.names[at]) or side.names[at]


def _lone_gradients(
    rows: MergedRows, visible: VisibleRows, module: int, places: Iterable[int]
) -> list[int]:
    """Of places without an edge those of parameters' gradients that stand in no backward call.

    Such are of modules whose weights another call uses, as attention does those of its output.
    """
    found: list[int] = []
    for place in sorted(places):
        row = int(visible.row[place])
        ours, theirs = int(rows.ours[row]), int(rows.theirs[row])
        side, at = (rows.problem, ours) if ours >= 0 else (rows.benchmark, theirs)
        if int(rows.parent[row]) == module and GRADIENTS in side.names[at]:
            found.append(place)
    return found


def _module_row(rows: MergedRows, node: int) -> int:
    """The row of a node where something is in it, else that of what it stands in."""
    row = max(0, int(rows.rows_of(np.array([node], dtype=np.int64))[0]))
    if _kind(rows, row) == _COLLECTION:
        row = int(rows.parent[row])
    return row if rows.children[row] or rows.parent[row] < 0 else int(rows.parent[row])


def _kind(rows: MergedRows, row: int) -> int:
    ours, theirs = int(rows.ours[row]), int(rows.theirs[row])
    return int(rows.problem.kind[ours] if ours >= 0 else rows.benchmark.kind[theirs])


def _few_calls(rows: MergedRows, module: int) -> list[int]:
    """The rows that stand for few calls between modules: those are drawn by themselves."""
    inside = np.flatnonzero((rows.parent == module) & (rows.children <= _FEW_CALLS))
    return [row for row in inside.tolist() if _kind(rows, row) == _COLLECTION]


def _places_in(rows: MergedRows, visible: VisibleRows, module: int, spread: set[int]) -> list[int]:
    """The places of a list that are in a module, without rows that are spread out."""
    inside = (visible.row > module) & (visible.row <= rows.last[module]) & (visible.fold >= 0)
    return [at for at in np.flatnonzero(inside).tolist() if int(visible.row[at]) not in spread]


def _first_shown(rows: MergedRows, visible: VisibleRows, places: list[int], node: int) -> int:
    """Which of a module's boxes is the first one shown, so that the node's own is among them."""
    (row,) = rows.rows_of(np.array([node], dtype=np.int64)).tolist()
    at = bisect_left(places, int(visible.place[row])) if row >= 0 else 0
    return 0 if at < MOST_BOXES else max(0, min(at - MOST_BOXES // 2, len(places) - MOST_BOXES))


def _with_holders(
    rows: MergedRows, visible: VisibleRows, placed: list[int], shown: list[int]
) -> list[int]:
    """The boxes that are shown and, before them, the open ones that hold some of them."""
    if not shown or shown[0] == placed[0]:
        return shown
    held, known = set(shown), set(placed)
    for place in shown:
        row = int(rows.parent[visible.row[place]])
        while row >= 0 and (holder := int(visible.place[row])) in known and holder not in held:
            held.add(holder)
            row = int(rows.parent[row])
    return sorted(held)


def unrecorded(
    results: Results, index: HasRows, visible: VisibleRows, places: list[int]
) -> set[int]:
    """Which calls left no values where others did: a dump of structure has none at all."""
    if results.summary().task == "structure":
        return set()
    by_key = {int(index.rows.key[visible.row[at]]): at for at in places if not visible.fold[at]}
    return {by_key[key] for key in results.without_values(list(by_key))}


def reshapes(row: DiffRow) -> bool:
    """Whether a row is a call that only lays a tensor out anew."""
    side = row.problem or row.benchmark
    return side is not None and work_named(side.title) == "view"


def _lanes(
    rows: MergedRows,
    visible: VisibleRows,
    shown: list[int],
    parents: list[int | None],
    earlier: Iterable[int],
) -> list[Lane]:
    """The pass of each box, by its own direction or that of the first in it.

    `earlier` are the rows of boxes that ran before those shown, and are not.
    """
    backward = [runs_backward(rows, int(visible.row[place])) for place in shown]
    top = [at for at, parent in enumerate(parents) if parent is None and backward[at]]
    is_behind = not top and any(runs_backward(rows, row) for row in earlier)
    last = top[-1] if top else -1 if is_behind else len(shown)
    lanes: list[Lane] = []
    of_place: dict[int, Lane] = {}
    for at, (place, parent) in enumerate(zip(shown, parents, strict=True)):
        lane: Lane = "backward" if backward[at] else "after" if at > last else "forward"
        lanes.append(of_place[parent] if parent is not None else lane)
        of_place[place] = lanes[-1]
    return lanes


def runs_backward(rows: MergedRows, row: int) -> bool:
    """Whether a row runs backward: by its own direction or that of the first in it."""
    while True:
        ours, theirs = int(rows.ours[row]), int(rows.theirs[row])
        side, at = (rows.problem, ours) if ours >= 0 else (rows.benchmark, theirs)
        if side.direction[at] != NOTHING or not rows.children[row]:
            return bool(side.direction[at] == _BACKWARD)
        row += 1


def _seen(
    results: ReadsValues, arrows: list[Arrow], boxes: list[DiffRow], shown: list[int]
) -> dict[int, FirstOutput]:
    """What calls without values put out, as those who read it have it."""
    key_of = dict(zip(shown, (box.key for box in boxes), strict=True))
    passed = {key_of[one.producer]: one.value for one in arrows if one.value >= 0}
    known = results.seen(list(passed.values()))
    return {key: known[value] for key, value in passed.items() if value in known}
