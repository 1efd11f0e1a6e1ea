"""Which neighbours are repeats: sibling modules with the same inside that fare the same.

Two insides are the same when their names are, call and layer numbers left out, row by row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from builder.results.followers.rows import MergedRows
from builder.results.followers.states import by_row, kinds_of
from builder.results.node_words import KINDS, NOTHING, Bools, Ints
from builder.results.side_nodes import SideNodes
from tb_graph_ascend.view.diff.words import WORDS, RowWords

_NUMBERS = re.compile(r"\.\d+(?=\.|$)", re.MULTILINE)
_NO_DIGITS = str.maketrans("", "", "0123456789")
_CHUNK = 16_384
_PRIME = np.uint64(0x9E37_79B9_7F4A_7C15)  # odd, so that it has an inverse modulo 2**64
_INVERSE = np.uint64(pow(int(_PRIME), -1, 2**64))


@dataclass(frozen=True, slots=True)
class Runs:
    """Rows that repeat their neighbour, in order, and the first row of the run of each."""

    member: Ints
    first: Ints

    def of(self, row: int) -> list[int]:
        """The rows of the run that a row stands in, the row alone where it repeats nothing."""
        firsts = self.first[self.member == row]
        return self.member[self.first == firsts[0]].tolist() if len(firsts) else [row]


def repeated(rows: MergedRows, words: RowWords) -> Runs:
    """All runs of at least two repeats."""
    if len(rows) < 2:
        return Runs(np.zeros(0, np.int64), np.zeros(0, np.int64))
    order = np.argsort(rows.parent, kind="stable")
    inside, state = _insides(rows), _states(rows, words)
    can = _foldable(rows, words)
    here, before = order[1:], order[:-1]
    alike = (
        can[here]
        & can[before]
        & (rows.parent[here] == rows.parent[before])
        & (inside[here] == inside[before])
        & (state[here] == state[before])
    )
    starts = np.append(True, ~alike)
    run = np.cumsum(starts) - 1
    size = np.bincount(run)
    kept = size[run] > 1
    return Runs(order[kept], order[starts][run][kept])


def _foldable(rows: MergedRows, words: RowWords) -> Bools:
    module = kinds_of(rows) == KINDS.index("module")
    return np.asarray(module & ~words.cause & (words.causes_below == 0) & (rows.parent != NOTHING))


def _states(rows: MergedRows, words: RowWords) -> Ints:
    """What must be alike besides the inside: the word, overflow, direction, micro-step."""
    problem, benchmark = rows.problem, rows.benchmark
    state = words.word.astype(np.int64)
    for ours, theirs, base in (
        (problem.direction, benchmark.direction, 4),
        (problem.overflow, benchmark.overflow, 8),
        (problem.micro_step, benchmark.micro_step, 1 << 20),
    ):
        state = state * base + by_row(rows, ours, theirs) + 1
    return state * len(WORDS) + (words.alone_below > 0)


def _insides(rows: MergedRows) -> Ints:
    """A number for each row's subtree: a polynomial over its pre-order, which fixes the tree."""
    count = len(rows)
    cell = _labels(rows) * np.uint64(31) + rows.children.astype(np.uint64)
    cell = (cell + np.uint64(1)) * _PRIME
    cell ^= cell >> np.uint64(29)
    with np.errstate(over="ignore"):
        power = np.cumprod(np.append(np.uint64(1), np.full(count, _PRIME)))
        back = np.cumprod(np.append(np.uint64(1), np.full(count, _INVERSE)))
        sums = np.append(np.uint64(0), np.cumsum(cell * power[:count]))
        hashed = (sums[rows.last + 1] - sums[:count]) * back[:count]
    return np.asarray(hashed).view(np.int64)


def _labels(rows: MergedRows) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    labels: dict[str, int] = {}

    def labelled(side: SideNodes) -> Ints:
        numbers = (labels.setdefault(text, len(labels)) for text in _unnumbered(side))
        return np.fromiter(numbers, np.int64, len(side))

    columns = [labelled(rows.problem)]
    # Most runs of one model differ in no name, and names are most of the work.
    columns.append(columns[0] if _alike(rows.problem, rows.benchmark) else labelled(rows.benchmark))
    ours, theirs = (
        np.where(place >= 0, column[np.maximum(place, 0)] + 1 if len(column) else 0, 0)
        for column, place in ((columns[0], rows.ours), (columns[1], rows.theirs))
    )
    return np.asarray(ours * (len(labels) + 1) + theirs).astype(np.uint64)


def _alike(one: SideNodes, other: SideNodes) -> bool:
    return one.names == other.names and np.array_equal(one.kind, other.kind)


def _unnumbered(side: SideNodes) -> list[str]:
    """The names of a side without what tells repeats apart."""
    module = side.kind == KINDS.index("module")
    without = _each(side.names, lambda text: text.translate(_NO_DIGITS))
    places = np.flatnonzero(module).tolist()
    layers = _each([side.names[at] for at in places], lambda text: _NUMBERS.sub("", text))
    for at, label in zip(places, layers, strict=True):
        without[at] = label
    return without


def _each(names: Sequence[str], change: Callable[[str], str]) -> list[str]:
    """Names changed some thousands at a time, a line each: one alone costs ten times as much."""
    # All of them at once would hold other threads up.
    changed: list[str] = []
    for start in range(0, len(names), _CHUNK):
        piece = names[start : start + _CHUNK]
        lines = change("\n".join(piece)).split("\n")
        changed += lines if len(lines) == len(piece) else map(change, piece)
    return changed
