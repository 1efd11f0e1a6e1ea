"""Pairs the values of matched nodes by role and position or keyword; surplus values stay single."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.match.frameworks.words import KeyWords, keys_told, pairing_keys, words_of
from builder.match.nodes import Matching
from builder.match.rollout_mapping import BETWEEN
from builder.match.tree import Tree, TreeNode

SURPLUS = -1


@dataclass(slots=True)
class ValuePairs:
    """Value indices of both sides, row by row in the problem side's execution order.

    A value without counterpart has SURPLUS on the other side; surplus benchmark values follow the
    problem's values of the same node. `node` is the execution order of the problem's node.
    """

    node: NDArray[np.int64]
    problem: NDArray[np.int64]
    benchmark: NDArray[np.int64]


def pair_values(matching: Matching) -> ValuePairs:
    """Pair the values of all matched nodes that have any."""
    if matching.rows is not None:
        return matching.rows
    runs = _Runs([], [], [], [])
    ours = matching.problem.dump.values.keys
    theirs = matching.benchmark.dump.values.keys
    find = matching.partner.get
    for node in matching.problem.in_order:
        partner = find(node)
        if partner is None:
            continue
        (a, b), (c, d) = node.values, partner.values
        if a == b or c == d:
            # Values recorded on one side only (risk level, filter) compare as nothing.
            continue
        if ours[a:b] == theirs[c:d]:
            runs.add(node.exec_order, a, c, b - a)
        elif matching.across_frameworks:
            _pair_across(runs, node, partner, matching)
        else:
            _pair_by_key(runs, node.exec_order, ours[a:b], theirs[c:d], (a, c))
    pairs = runs.spread()
    return _by_full_name(pairs, matching) if matching.values else pairs


def value_name(node: TreeNode, key: str) -> str:
    """The full name of a value as users have it: its call, then where it stands in the call."""
    if node.entry is None:
        return node.name + key.removeprefix("output")
    if node.holds_gradients:
        key = key.removeprefix("parameters_grad.")
    if BETWEEN in node.name:
        return BETWEEN.join(f"{name}.{key}" for name in node.name.split(BETWEEN))
    return f"{node.name}.{key}"


@dataclass(slots=True)
class _Runs:
    """Pairs as runs of rows: their node, where they start on either side, and how long they are."""

    node: list[int]
    problem: list[int]
    benchmark: list[int]
    length: list[int]

    def add(self, node: int, problem: int, benchmark: int, length: int = 1) -> None:
        self.node.append(node)
        self.problem.append(problem)
        self.benchmark.append(benchmark)
        self.length.append(length)

    def spread(self) -> ValuePairs:
        length = np.array(self.length, dtype=np.int64)
        ends = np.cumsum(length)
        within = np.arange(ends[-1] if ends.size else 0) - np.repeat(ends - length, length)
        return ValuePairs(
            np.repeat(np.array(self.node, dtype=np.int64), length),
            np.repeat(np.array(self.problem, dtype=np.int64), length) + within,
            np.repeat(np.array(self.benchmark, dtype=np.int64), length) + within,
        )


def _pair_by_key(
    runs: _Runs, node: int, ours: list[str], theirs: list[str], first: tuple[int, int]
) -> None:
    """Pair the values of two nodes, whose indices begin at `first`, by their keys."""
    waiting: dict[str, list[int]] = {}
    for index in range(len(theirs) - 1, -1, -1):
        waiting.setdefault(theirs[index], []).append(first[1] + index)
    for index, key in enumerate(ours, first[0]):
        candidates = waiting.get(key)
        runs.add(node, index, candidates.pop() if candidates else SURPLUS)
    for index in sorted(index for rest in waiting.values() for index in rest):
        runs.add(node, SURPLUS, index)


def _pair_across(runs: _Runs, node: TreeNode, partner: TreeNode, matching: Matching) -> None:
    """Pair the values of two frameworks' nodes.

    A parameter may have another name, and an argument that one signature alone has is no
    difference.
    """
    values = matching.problem.dump.values, matching.benchmark.dump.values
    (a, b), (c, d) = node.values, partner.values
    theirs = values[1].keys[c:d]
    both = _Runs([], [], [], [])
    dumps = matching.problem.dump, matching.benchmark.dump
    is_pytorch = words_of(dumps[0]) is None
    recorded = (partner if is_pytorch else node).name
    told = keys_told(recorded, matching.calls, is_pytorch) if node.kind == "api" else {}
    keys = pairing_keys(values[0].keys[a:b], theirs, KeyWords.of(*dumps, told))
    _pair_by_key(both, node.exec_order, keys, theirs, (a, c))
    for p, q in zip(both.problem, both.benchmark):
        record = values[1].records[q] if p == SURPLUS else values[0].records[p]
        if SURPLUS not in (p, q) or record.dtype is not None:
            runs.add(node.exec_order, p, q)


def _by_full_name(pairs: ValuePairs, matching: Matching) -> ValuePairs:
    """Pair the values that a data mapping names; what they were paired with before stays single."""
    ours, theirs = _indices(matching.problem), _indices(matching.benchmark)
    wanted: dict[int, int] = {}
    owners: dict[int, int] = {}
    for name, other in matching.values.items():
        if name not in ours or other not in theirs:
            continue  # another rank's; what no rank has is told when all of them are read
        wanted[ours[name][0]] = theirs[other][0]
        owners[ours[name][0]] = ours[name][1]
    taken = set(wanted.values())
    rows: list[tuple[int, int, int]] = []
    columns = (pairs.node.tolist(), pairs.problem.tolist(), pairs.benchmark.tolist())
    for node, p, b in zip(*columns, strict=True):
        if p in wanted:
            rows.append((node, p, wanted.pop(p)))
        elif b not in taken:
            rows.append((node, p, b))
        elif p != SURPLUS:
            rows.append((node, p, SURPLUS))
    rows += [(owners[p], p, b) for p, b in wanted.items()]
    # Whoever looks for the rows of a node expects them side by side.
    table = np.array(sorted(rows, key=lambda row: row[0]), dtype=np.int64).reshape(-1, 3)
    return ValuePairs(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())


def named_values(matching: Matching) -> tuple[tuple[bool, bool], ...]:
    """Which side has the value that it is named with, for each line of a data mapping."""
    if not matching.values:
        return ()
    ours, theirs = _indices(matching.problem), _indices(matching.benchmark)
    return tuple((name in ours, other in theirs) for name, other in matching.values.items())


def _indices(tree: Tree) -> dict[str, tuple[int, int]]:
    """The index and the node of every value by its full name."""
    keys = tree.dump.values.keys
    return {
        value_name(node, keys[index]): (index, node.exec_order)
        for node in tree.in_order
        for index in range(*node.values)
    }
