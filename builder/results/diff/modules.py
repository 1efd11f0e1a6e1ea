"""The modules of a pair as a tree of their own, by their paths and not by what ran when.

A module that ran forward and backward, or several times, is one entry; a list of modules that is
never called itself (`layers`) is one, too. Each sums up all that ran in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from builder.results.diff.merge import MergedRows
from builder.results.diff.sides import NOTHING, Floats, Ints
from builder.results.diff.words import RowWords
from builder.results.pair_index.columns import KINDS

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
    worst: Floats

    def __len__(self) -> int:
        return len(self.title)


@dataclass(slots=True)
class _Entries:
    """Modules by path in the order in which they were first seen, parents before children."""

    known: dict[str, int] = field(default_factory=lambda: {"": 0})
    parent: list[int] = field(default_factory=lambda: [NOTHING])
    row: list[int] = field(default_factory=lambda: [0])
    differs: list[bool] = field(default_factory=lambda: [True])

    def of(self, path: str) -> int:
        """The entry of a path; it and all above it are made where they are missing."""
        entry = self.known.get(path)
        if entry is None:
            above = self.of(path.rpartition(".")[0])
            entry = self.known[path] = len(self.parent)
            self.parent.append(above)
            self.row.append(NOTHING)
            self.differs.append(False)
        return entry

    def meet(self, entry: int, row: int, differs: bool) -> None:
        """Remember where to go to: the first row that differs, else the first."""
        if self.row[entry] == NOTHING or (differs and not self.differs[entry]):
            self.row[entry], self.differs[entry] = row, differs


def module_tree(rows: MergedRows, words: RowWords) -> ModuleTree:
    """The tree of a pair's modules with their sums."""
    entries, kind = _Entries(), _kinds(rows)
    differs = (words.cause | words.divergent | (words.divergent_below > 0)).tolist()
    owner = [0] * len(rows)
    for row, (above, of_kind) in enumerate(zip(rows.parent.tolist(), kind.tolist(), strict=True)):
        path = _path(_names(rows, row)[0]) if of_kind == _MODULE else ""
        if path:
            entry = owner[row] = entries.of(path)
            entries.meet(entry, row, differs[row])
        elif above >= 0:
            owner[row] = owner[above]
    return _in_order(rows, words, entries, np.array(owner, dtype=np.int64), kind)


def _path(name: str) -> str:
    """The attribute path of a module's entry; empty for a name outside the grammar."""
    match = MODULE.fullmatch(name)
    return match[1] if match is not None else ""


def _type_name(name: str) -> str:
    match = MODULE.fullmatch(name)
    return match[2] if match is not None else ""


def _kinds(rows: MergedRows) -> Ints:
    ours, theirs = rows.problem.kind, rows.benchmark.kind
    cells = np.concatenate([ours, theirs])
    return np.asarray(cells[np.where(rows.ours >= 0, rows.ours, len(ours) + rows.theirs)])


def _names(rows: MergedRows, row: int) -> tuple[str, str]:
    """The row's name, and what the benchmark calls it where it does so differently."""
    ours, theirs = int(rows.ours[row]), int(rows.theirs[row])
    own = rows.problem.names[ours] if ours >= 0 else rows.benchmark.names[theirs]
    other = rows.benchmark.names[theirs] if theirs >= 0 else own
    return own, other


def _in_order(
    rows: MergedRows, words: RowWords, entries: _Entries, owner: Ints, kind: Ints
) -> ModuleTree:
    order, last = _preorder(entries.parent)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    parent = np.array([place[p] if p >= 0 else NOTHING for p in np.array(entries.parent)[order]])
    owner = place[owner]
    paths = np.array(list(entries.known), dtype=object)[order].tolist()
    to_go = _rows_to_go(np.array(entries.row)[order], last)
    named = [_names(rows, row) for row in to_go.tolist()]
    count = len(order)
    worst = np.full(count, -np.inf)
    known = ~np.isnan(words.score)
    np.maximum.at(worst, owner[known], words.score[known])
    for entry in range(count - 1, 0, -1):
        worst[parent[entry]] = max(worst[parent[entry]], worst[entry])

    def summed(flags: Ints) -> Ints:
        sums = np.append(0, np.cumsum(np.bincount(owner[flags > 0], minlength=count)))
        return np.asarray(sums[last + 1] - sums[np.arange(count)])

    own = np.array(entries.row)[order] != NOTHING
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
        worst=np.where(np.isinf(worst), np.nan, worst),
    )


def _preorder(parent: Sequence[int]) -> tuple[Ints, Ints]:
    """Entries in pre-order, and the place of the last below each."""
    below: list[list[int]] = [[] for _ in parent]
    for entry, above in enumerate(parent):
        if above >= 0:
            below[above].append(entry)
    order, stack = [], [0]
    while stack:
        order.append(stack.pop())
        stack.extend(reversed(below[order[-1]]))
    size = [1] * len(parent)
    for entry in range(len(parent) - 1, 0, -1):
        size[parent[entry]] += size[entry]
    return np.array(order), np.arange(len(order)) + np.array(size)[order] - 1


def _rows_to_go(row: Ints, last: Ints) -> Ints:
    """Of a list of modules that never ran itself: the row of the first that did."""
    to_go: Ints = row.copy()
    for entry in range(len(row) - 1, -1, -1):
        if to_go[entry] == NOTHING:
            below = to_go[entry + 1 : last[entry] + 1]
            to_go[entry] = below[0] if len(below) else 0
    return to_go


def _title(path: str) -> str:
    """The last part of a path, with the list that it numbers."""
    above, _, own = path.rpartition(".")
    return f"{above.rpartition('.')[2]}.{own}" if own.isdigit() and above else own


def _other(path: str, name: str, other: str) -> str:
    theirs = _path(other) if other != name else path
    return _title(theirs) if theirs and theirs != path else ""
