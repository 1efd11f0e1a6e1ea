"""The modules of a pair as a tree of their own, by their paths and not by what ran when.

A module that ran forward and backward, or several times, is one entry; a list of modules that is
never called itself (`layers`) is one, too. Each sums up all that ran in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from builder.results.followers.rows import MergedRows, deepest_first, last_below
from builder.results.followers.states import kinds_of
from builder.results.node_words import KINDS, NOTHING, Floats, Ints
from tb_graph_ascend.view.diff.words import RowWords

MODULE = re.compile(r"(?:Module|Cell)\.(.+)\.([^.]+)\.(?:forward|backward)(?:\.(\d+))?$")
"""The path, class and call of a module's entry."""

_MODULE, _API = KINDS.index("module"), KINDS.index("api")


@dataclass(frozen=True, slots=True)
class ModuleTree:
    """Modules in pre-order; `last` is the last entry below each, sums hold what is below, too.

    `row` is the merged row to go to, `owner` the entry of every merged row, `other` what the
    benchmark calls the module where it does so differently.
    """

    title: Sequence[str]
    type_name: Sequence[str]
    other: Sequence[str]
    parent: Ints
    last: Ints
    row: Ints
    owner: Ints
    nodes: Ints
    divergent: Ints
    alone: Ints
    causes: Ints
    begins: Ints
    worst: Floats

    def __len__(self) -> int:
        return len(self.title)


@dataclass(slots=True)
class _Entries:
    """Modules by path in the order in which they were first seen, parents before children."""

    known: dict[str, int] = field(default_factory=lambda: {"": 0})
    parent: list[int] = field(default_factory=lambda: [NOTHING])
    row: list[int] = field(default_factory=lambda: [0])

    def of(self, path: str) -> int:
        """The entry of a path; it and all above it are made where they are missing."""
        entry = self.known.get(path)
        if entry is None:
            above = self.of(path.rpartition(".")[0])
            entry = self.known[path] = len(self.parent)
            self.parent.append(above)
            self.row.append(NOTHING)
        return entry

    def meet(self, entry: int, row: int) -> None:
        """Remember where to go to: the first row, wherever in it a difference shows."""
        if self.row[entry] == NOTHING:
            self.row[entry] = row


def module_tree(rows: MergedRows, words: RowWords) -> ModuleTree:
    """The tree of a pair's modules with their sums."""
    entries, kind = _Entries(), kinds_of(rows)
    own = np.full(len(rows), NOTHING, dtype=np.int64)
    for row in np.flatnonzero(kind == _MODULE).tolist():
        path = _path(_names(rows, row)[0])
        if path:
            own[row] = entries.of(path)
            entries.meet(int(own[row]), row)
    return _in_order(rows, words, entries, _owners(rows.parent, own), kind)


def _owners(parent: Ints, own: Ints) -> Ints:
    """The entry that each row is, else that of the row above, else the first."""
    owner = np.maximum(own, 0)
    for level in reversed(deepest_first(parent)):
        owner[level] = np.where(own[level] >= 0, own[level], owner[parent[level]])
    return owner


def _path(name: str) -> str:
    """The attribute path of a module's entry; empty for a name outside the grammar."""
    match = MODULE.fullmatch(name)
    return match[1] if match is not None else ""


def _type_name(name: str) -> str:
    match = MODULE.fullmatch(name)
    return match[2] if match is not None else ""


def _names(rows: MergedRows, row: int) -> tuple[str, str]:
    """The row's name, and what the benchmark calls it where it does so differently."""
    ours, theirs = int(rows.ours[row]), int(rows.theirs[row])
    own = rows.problem.names[ours] if ours >= 0 else rows.benchmark.names[theirs]
    other = rows.benchmark.names[theirs] if theirs >= 0 else own
    return own, other


def _in_order(
    rows: MergedRows, words: RowWords, entries: _Entries, owner: Ints, kind: Ints
) -> ModuleTree:
    order = _preorder(entries.parent)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    above = np.array(entries.parent)[order]
    parent = np.where(above >= 0, place[above], NOTHING)
    last = last_below(parent)
    owner = place[owner]
    paths = np.array(list(entries.known), dtype=object)[order].tolist()
    ran = np.array(entries.row)[order]
    to_go = _rows_to_go(ran)
    named = [_names(rows, row) for row in to_go.tolist()]
    count = len(order)
    worst = np.full(count, -np.inf)
    known = ~np.isnan(words.score)
    np.maximum.at(worst, owner[known], words.score[known])
    for level in deepest_first(parent):
        np.maximum.at(worst, parent[level], worst[level])

    def summed(flags: Ints) -> Ints:
        sums = np.append(0, np.cumsum(np.bincount(owner[flags > 0], minlength=count)))
        return np.asarray(sums[last + 1] - sums[np.arange(count)])

    own = ran != NOTHING
    return ModuleTree(
        title=[_title(path) or named[0][0] for path in paths],
        type_name=[
            _type_name(name) if has else "" for has, (name, _) in zip(own, named, strict=True)
        ],
        other=[
            _other(path, *names) if has else ""
            for has, path, names in zip(own, paths, named, strict=True)
        ],
        parent=parent,
        last=last,
        row=to_go,
        owner=owner,
        nodes=summed(np.isin(kind, (_MODULE, _API)).astype(np.int64)),
        divergent=summed(words.divergent.astype(np.int64)),
        alone=summed(words.alone.astype(np.int64)),
        causes=summed(words.cause.astype(np.int64)),
        begins=summed(words.begins.astype(np.int64)),
        worst=np.where(np.isinf(worst), np.nan, worst),
    )


def _preorder(parent: Sequence[int]) -> Ints:
    """Entries in pre-order."""
    below: list[list[int]] = [[] for _ in parent]
    for entry, above in enumerate(parent):
        if above >= 0:
            below[above].append(entry)
    order, stack = [], [0]
    while stack:
        order.append(stack.pop())
        stack.extend(reversed(below[order[-1]]))
    return np.array(order)


def _rows_to_go(row: Ints) -> Ints:
    """Of a list of modules that never ran itself: the row of the first that did."""
    # Whatever has an entry ran, or something below it did, which stands next in pre-order.
    ran = np.flatnonzero(row != NOTHING)
    return np.asarray(row[ran[np.searchsorted(ran, np.arange(len(row)))]])


def _title(path: str) -> str:
    """The last part of a path, with the list that it numbers."""
    above, _, own = path.rpartition(".")
    return f"{above.rpartition('.')[2]}.{own}" if own.isdigit() and above else own


def _other(path: str, name: str, other: str) -> str:
    theirs = _path(other) if other != name else path
    return _title(theirs) if theirs and theirs != path else ""
