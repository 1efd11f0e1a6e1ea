"""What a step and rank holds by row and edge: of it the page works windows and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from builder.results.followers.carry_edges import Edges, read_edges
from builder.results.followers.rows import MergedRows
from builder.results.followers.states import kinds_of
from builder.results.followers.step import StepFollowers
from builder.results.node_words import KINDS, NOTHING, Floats
from builder.results.reading import ReadsValues, Results
from builder.results.records import FirstOutput, UnmadeInput
from tb_graph_ascend.offline.way_texts import followed
from tb_graph_ascend.view.diff.boxes import (
    GRADIENTS,
    Repeats,
    module_at,
    repeats_in,
    reshapes,
    runs_backward,
    unrecorded,
    weights_of,
)
from tb_graph_ascend.view.diff.index import DiffIndex
from tb_graph_ascend.view.diff.row_sources import DrawnRows, HasRows, ModuleRows, ToldRows
from tb_graph_ascend.view.diff.run_inputs import unmade_by_node
from tb_graph_ascend.view.diff.visible import VisibleRows
from tb_graph_ascend.view.diff.window import DiffRow, row_at

Cells = dict[str, NDArray[Any]]
T = TypeVar("T")
# Ids that are asked for at once.
_AT_ONCE = 500
_DIGITS = 6


class RowFacts(msgspec.Struct, frozen=True):
    """Of one row what a picture says of its box: as GraphBox, Leaves and GraphInput have it."""

    output: FirstOutput | None
    weights: list[list[int]]
    repeats: Repeats | None
    path: str
    unmade: list[UnmadeInput]


def closed_rows(index: ToldRows) -> list[DiffRow]:
    """Every row as it stands in a list with all closed."""
    count = len(index.rows)
    every = np.arange(count)
    none = np.zeros(count, dtype=bool)
    listed = VisibleRows(every, np.zeros(count, np.int64), index.rows.depth, every, none)
    return [row_at(index, listed, place) for place in range(count)]


def row_cells(results: Results, index: DiffIndex, closed: Sequence[DiffRow]) -> Cells:
    """Columns by row: its place in the tree, scores and what a picture asks of it."""
    rows, words = index.rows, index.words
    return {
        "key": rows.key,
        "ours": rows.ours,
        "theirs": rows.theirs,
        "parent": rows.parent,
        "last": rows.last,
        "children": rows.children,
        "score": _rounded(words.score),
        "worstBelow": _rounded(words.worst_below),
        "handedOn": _handed_on(results, closed),
        "isCollection": kinds_of(rows) == KINDS.index("collection"),
        "isBackward": np.array([runs_backward(rows, row) for row in range(len(rows))], bool),
        "isGradient": np.array([GRADIENTS in _name(rows, row) for row in range(len(rows))], bool),
        "isUnrecorded": _unrecorded(results, index),
        "isReshaping": np.array([reshapes(row) for row in closed], bool),
        "runMember": index.runs.member,
        "runFirst": index.runs.first,
        "flowProducer": index.followers.flow.producer,
        "flowConsumer": index.followers.flow.consumer,
        "flowExact": index.followers.flow.exact,
        "drawnProducer": index.drawn.producer,
        "drawnConsumer": index.drawn.consumer,
        "drawnKnown": index.drawn.known,
        "drawnValue": index.drawn.value,
    }


def row_facts(results: Results, index: DrawnRows, closed: Sequence[DiffRow]) -> Iterator[RowFacts]:
    """By row what a picture says of its box."""
    for start in range(0, len(closed), _AT_ONCE):
        part = list(closed[start : start + _AT_ONCE])
        outputs = results.first_outputs([row.key for row in part])
        weights = weights_of(results, part)
        forward = [row.key for row in part if not runs_backward(index.rows, row.at)]
        unmade = unmade_by_node(results, index.drawn, forward)
        for row in part:
            yield RowFacts(
                outputs.get(row.key),
                weights.get(row.key, []),
                repeats_in(index.rows, row.at),
                module_at(index.rows, row.at),
                unmade.get(row.key, []),
            )


def module_cells(index: ModuleRows) -> Cells:
    """Columns by module of the outline."""
    sums = ("nodes", "divergent", "alone", "causes", "begins")
    counts = ("parent", "last", "row", "owner", *sums)
    tree = index.modules
    return {name: getattr(tree, name) for name in counts} | {"worst": _rounded(tree.worst)}


def seen_values(results: ReadsValues, index: DrawnRows) -> dict[str, FirstOutput]:
    """What passed through calls without values, by the id of the value."""
    values = index.drawn.value
    found = _in_parts(results.seen, np.unique(values[values >= 0]).tolist())
    return {str(id_): output for part in found for id_, output in part.items()}


def way_cells(here: StepFollowers) -> Cells:
    """By row where it goes back to, and along which edges; nothing where nothing was compared."""
    if not here.compared:
        return {}
    rows, led = here.rows, here.followers
    received = np.array([one.node for one in here.received], dtype=np.int64)
    ends = rows.rows_of(received)
    order = np.full(len(rows), NOTHING, dtype=np.int64)
    order[rows.ours >= 0] = rows.problem.order[rows.ours[rows.ours >= 0]]
    return {
        "cause": led.cause,
        "isGuess": led.perhaps,
        "isDivergent": here.states.divergent,
        "isCause": here.states.cause,
        "isCarrying": here.carrying,
        "isPassable": here.over.perhaps,
        "begin": np.array([here.start_of(row) for row in range(len(rows))], np.int64),
        "execution": order,
        "stateScore": here.states.score,
        "receivedRow": ends[ends != NOTHING],
        "carriedRow": here.carried,
        **_edge_cells("edge", followed(here)),
        **_edge_cells("read", read_edges(here.flow)),
    }


def _edge_cells(name: str, edges: Edges) -> Cells:
    return {
        f"{name}Start": edges.start,
        f"{name}End": edges.end,
        f"{name}Kind": edges.kind,
        f"{name}Certain": edges.certain,
    }


def _rounded(cells: Floats) -> Floats:
    """As the server sends scores: what Python rounds, JavaScript would not round alike."""
    return np.array([round(cell, _DIGITS) for cell in cells.tolist()], np.float64)


def _handed_on(results: Results, closed: Sequence[DiffRow]) -> Floats:
    scores = np.full(len(closed), np.nan)
    if not results.comparison:
        return scores
    alone = {r.key: r.at for r in closed if None in (r.problem, r.benchmark) and r.score is None}
    for part in _in_parts(results.handed_on, list(alone)):
        for key, one in part.items():
            scores[alone[key]] = round(one.score, _DIGITS)
    return scores


def _unrecorded(results: Results, index: HasRows) -> NDArray[np.bool_]:
    count = len(index.rows)
    every, none = np.arange(count), np.zeros(count, dtype=bool)
    listed = VisibleRows(every, np.zeros(count, np.int64), index.rows.depth, every, none)
    flags = np.zeros(count, dtype=bool)
    for start in range(0, count, _AT_ONCE):
        part = range(start, min(count, start + _AT_ONCE))
        flags[list(unrecorded(results, index, listed, list(part)))] = True
    return flags


def _in_parts(ask: Callable[[list[int]], T], ids: list[int]) -> Iterator[T]:
    for start in range(0, len(ids), _AT_ONCE):
        yield ask(ids[start : start + _AT_ONCE])


def _name(rows: MergedRows, row: int) -> str:
    ours, theirs = int(rows.ours[row]), int(rows.theirs[row])
    return rows.problem.names[ours] if ours >= 0 else rows.benchmark.names[theirs]
