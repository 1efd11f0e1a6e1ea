"""A window of the list as it is sent: rows with both sides at one height, and rails beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace as replace_struct

from builder.results.followers.rows import MergedRows
from builder.results.node_words import DIRECTIONS, KINDS, LEVELS, NOTHING, VERDICTS, Floats
from builder.results.reading import ReadsValues
from builder.results.records import (
    Count,
    Direction,
    FirstOutput,
    Kind,
    Overflow,
    Verdict,
)
from builder.results.side_nodes import SideNodes
from tb_graph_ascend.view.diff.index import DiffIndex, OpenList, Wanted
from tb_graph_ascend.view.diff.modules import MODULE
from tb_graph_ascend.view.diff.row_sources import ToldRows
from tb_graph_ascend.view.diff.visible import VisibleRows
from tb_graph_ascend.view.diff.words import WORDS, Word

T = TypeVar("T", bound=str)

_MOST_EDGES = 400
_COLLECTION = KINDS.index("collection")
_LOOSE = re.compile(r"^Module\.")
_GRADIENTS = re.compile(r"(?:Module|Cell)\.(.+)\.[^.]+\.(parameters_grad)(?:\.\d+)?$")
_CALL = re.compile(r"(\w+)\.(.+)\.(\d+)\.(?:forward|backward)$")


class RowSide(msgspec.Struct, frozen=True, gc=False):
    """What one side of a row says: its title below its parent, class or family, number of call.

    Of a row that stands for repeats `until` is the title of the last. `overflow_below` is the worst
    level of what is below it. `calls` are those of this side in a run of calls; the `children` of
    its row are of both. `output` is the first that a call of a
    single graph puts out; rows of a comparison show scores in its place.
    """

    id: int
    name: str
    title: str
    detail: str
    call: int | None
    overflow: Overflow | None
    overflow_below: Overflow | None
    until: str = ""
    output: FirstOutput | None = None
    calls: Count = 0


class DiffRow(msgspec.Struct, frozen=True, gc=False):
    """One row: a matched pair, or what one side alone has.

    `at` is its place among all rows of the pair and `span` how many it stands for. `fold` is 0 for
    a row as such, n for one that stands for n repeats, −n for the head of n that are unfolded.
    `inside` says that the word is that of something below. `score` of a call without a partner is
    that of what it hands on.
    """

    key: int
    at: int
    span: int
    depth: int
    children: Count
    open: bool
    fold: int
    kind: Kind
    direction: Direction | None
    micro_step: int
    problem: RowSide | None
    benchmark: RowSide | None
    word: Word
    inside: bool
    score: float | None
    input_score: float | None
    worst_below: float | None
    divergent_below: Count
    alone_below: Count
    verdict: Verdict | None
    overflow: Overflow | None
    source: int | None


class RowAbove(msgspec.Struct, frozen=True, gc=False):
    """A row that stands above the first of a window, so that its head can stay in view."""

    place: int
    row: DiffRow


class RailEdge(msgspec.Struct, frozen=True, gc=False):
    """What a visible row put out and another read; both are places in the list."""

    producer: int
    consumer: int
    lane: int
    exact: bool


class RowWindow(msgspec.Struct, frozen=True):
    """A part of the list.

    `bins` holds how many rows of the list begin before each bin of the profile; `found` is the
    row of the node that was to be revealed, and `opened` what had to be opened for it.
    """

    total: Count
    offset: Count
    rows: list[DiffRow]
    above: list[RowAbove]
    rails: list[RailEdge]
    bins: list[int]
    found: int | None
    opened: str


def window_of(
    index: DiffIndex, wanted: Wanted, offset: int, limit: int, reveal: int | None
) -> RowWindow:
    """The rows from an offset on; with `reveal` the page of as many rows that has that node."""
    revealed, opened = None, wanted.openness
    if reveal is not None:
        wanted, row = _revealing(index, wanted, reveal)
        opened = wanted.openness
        if row != NOTHING:
            revealed = int(index.listed(wanted).visible.place[row])
            offset = revealed - revealed % limit
    listed = index.listed(wanted)
    stop = min(len(listed.visible), offset + limit)
    places = range(min(offset, stop), stop)
    return RowWindow(
        total=len(listed.visible),
        offset=offset,
        rows=[row_at(index, listed.visible, place) for place in places],
        above=_above(index, listed.visible, places),
        rails=_rails(listed, offset, stop),
        bins=listed.bins.tolist(),
        found=revealed,
        opened=opened,
    )


def last_key(index: ToldRows, row: DiffRow) -> int:
    """The node of a row; of one that stands for repeats the last of them, whose output goes on."""
    if row.fold == 0:
        return row.key
    run = index.runs.of(row.at)
    return int(index.rows.key[run[run.index(row.at) + abs(row.fold) - 1]])


def with_outputs(window: RowWindow, results: ReadsValues, index: ToldRows) -> RowWindow:
    """The window of a single graph with what each of its rows puts out."""
    spoken = {row.key: last_key(index, row) for row in window.rows}
    outputs = results.first_outputs(list(spoken.values()))
    rows = [
        replace_struct(
            row, problem=replace_struct(row.problem, output=outputs.get(spoken[row.key]))
        )
        if row.problem is not None
        else row
        for row in window.rows
    ]
    return replace_struct(window, rows=rows)


def with_handed_on(window: RowWindow, results: ReadsValues) -> RowWindow:
    """The window with the scores of what calls hand on that one run alone makes."""
    shown = [*window.rows, *(above.row for above in window.above)]
    alone = [row.key for row in shown if None in (row.problem, row.benchmark) and row.score is None]
    handed = results.handed_on(alone) if alone else {}
    if not handed:
        return window

    def told(row: DiffRow) -> DiffRow:
        one = handed.get(row.key) if row.score is None else None
        return row if one is None else replace_struct(row, score=round(one.score, 6))

    above = [RowAbove(one.place, told(one.row)) for one in window.above]
    return replace_struct(window, rows=[told(row) for row in window.rows], above=above)


def _revealing(index: DiffIndex, wanted: Wanted, node: int) -> tuple[Wanted, int]:
    """The same list with all open that is above a node, and the node's row."""
    row = int(index.rows.rows_of(np.array([node], dtype=np.int64))[0])
    if row == NOTHING:
        return wanted, row
    is_open = index.listed(wanted).visible.is_open
    keys = [str(index.rows.key[up]) for up in index.above(row) if not is_open[up]]
    openness = ".".join([*([wanted.openness] if wanted.openness else []), *keys])
    kept = wanted.kept if node in wanted.kept else (*wanted.kept, node)
    return replace(wanted, openness=openness, kept=kept), row


def row_at(index: ToldRows, visible: VisibleRows, place: int) -> DiffRow:
    """The row at a place of a list."""
    rows, words = index.rows, index.words
    row, fold = int(visible.row[place]), int(visible.fold[place])
    until = _end_of_fold(index, visible, place) if fold else row
    ours, theirs = int(rows.ours[row]), int(rows.theirs[row])
    side, at = (rows.problem, ours) if ours >= 0 else (rows.benchmark, theirs)
    problem = rows.problem if ours >= 0 else None
    last = int(rows.last[until])
    return DiffRow(
        key=int(rows.key[row]),
        at=row,
        span=last - row + 1,
        depth=int(visible.depth[place]),
        children=int(rows.children[row]),
        open=fold < 0 or (fold == 0 and bool(rows.children[row] and visible.is_open[row])),
        fold=fold,
        kind=_word(KINDS, side.kind[at]) or "module",
        direction=_word(DIRECTIONS, side.direction[at]),
        micro_step=int(side.micro_step[at]),
        problem=_side(rows.problem, ours, rows, row, until),
        benchmark=_side(rows.benchmark, theirs, rows, row, until),
        word=WORDS[words.word[row]],
        inside=bool(words.inside[row]),
        score=_own_score(index, row),
        input_score=_number(problem.input_score[ours]) if problem is not None else None,
        worst_below=_worst(words.score, words.worst_below, row, until, fold),
        divergent_below=int(words.divergent_below[row]),
        alone_below=int(words.alone_below[row]),
        verdict=_word(VERDICTS, side.verdict[at]),
        overflow=_word(LEVELS, side.overflow[at]),
        source=int(side.source[at]) if side.source[at] >= 0 else None,
    )


def _own_score(index: ToldRows, row: int) -> float | None:
    score = _number(index.words.score[row])
    if score is not None or not index.words.cause[row]:
        return score
    handed_on = index.cause_scores.get(int(index.rows.key[row]))
    return None if handed_on is None else round(handed_on, 6)


def _above(index: ToldRows, visible: VisibleRows, places: range) -> list[RowAbove]:
    if not places:
        return []
    # An unfolded run has a head of its own; its row is that of its first, which has the place.
    rows = index.above(int(visible.row[places[0]]))
    heads = [int(visible.place[row]) for row in rows]
    return [RowAbove(place, row_at(index, visible, place)) for place in heads]


def _end_of_fold(index: ToldRows, visible: VisibleRows, place: int) -> int:
    """The last of the repeats that a row stands for."""
    row, fold = int(visible.row[place]), int(visible.fold[place])
    member = index.runs.member
    first = int(np.flatnonzero(member == row)[0])
    return int(member[first + abs(fold) - 1])


def _own(side: SideNodes, rows: MergedRows, row: int) -> int:
    return int((rows.ours if side is rows.problem else rows.theirs)[row])


def _worst(score: Floats, below: Floats, row: int, until: int, fold: int) -> float | None:
    """The worst below a row; for repeats that of all of them."""
    if not fold:
        return _number(below[row])
    known = np.append(score[row : until + 1], below[row : until + 1])
    known = known[~np.isnan(known)]
    return _number(known.max()) if len(known) else None


def _side(side: SideNodes, at: int, rows: MergedRows, row: int, until: int) -> RowSide | None:
    if at < 0:
        return None
    title, detail, call = _title(side, at, rows, row)
    below = rows.overflow_below(side is rows.problem)[row]
    own, worst = _word(LEVELS, side.overflow[at]), _word(LEVELS, below)
    end = _title(side, _own(side, rows, until), rows, until)[0] if until != row else ""
    calls = int((side.parent == at).sum()) if side.kind[at] == _COLLECTION else 0
    id_ = int(side.id[at])
    return RowSide(id_, side.names[at], title, detail, call, own, worst, end, calls=calls)


def _title(side: SideNodes, at: int, rows: MergedRows, row: int) -> tuple[str, str, int | None]:
    """What is read: the path below the parent for modules, the name of the call for calls."""
    name = side.names[at]
    match = MODULE.fullmatch(name)
    if match is not None:
        path, kind, call = match.groups()
        above = MODULE.fullmatch(side.names[int(side.parent[at])]) if side.parent[at] >= 0 else None
        if above is not None and path.startswith(f"{above[1]}."):
            path = path[len(above[1]) + 1 :]
        return path, kind, int(call) if call not in (None, "0") else None
    match = _GRADIENTS.fullmatch(name)
    if match is not None:
        return match[1], match[2], None
    match = _CALL.fullmatch(name)
    if match is not None:
        return match[2], match[1], int(match[3])
    if row == 0 and rows.parent[row] == NOTHING:
        return name, "", None
    if side.kind[at] == _COLLECTION:
        return _calls_in(side, at), "", None
    return _LOOSE.sub("", name), "", None


def _calls_in(side: SideNodes, at: int) -> str:
    """What a run of calls between modules is called: by its first call and its last."""
    inside = np.flatnonzero(side.parent == at)
    found = (_CALL.fullmatch(side.names[one]) for one in (inside[0], inside[-1]))
    return " … ".join(dict.fromkeys(one[2] for one in found if one is not None))


def _word(words: Sequence[T], code: int) -> T | None:
    return words[code] if code >= 0 else None


def _number(cell: float) -> float | None:
    return None if np.isnan(cell) else round(float(cell), 6)


def _rails(listed: OpenList, first: int, stop: int) -> list[RailEdge]:
    rails = listed.rails
    chosen = rails.within(first, stop, _MOST_EDGES)
    return [
        RailEdge(*cells)
        for cells in zip(
            rails.producer[chosen].tolist(),
            rails.consumer[chosen].tolist(),
            rails.lane[chosen].tolist(),
            rails.exact[chosen].tolist(),
            strict=True,
        )
    ]
