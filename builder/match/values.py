"""Pairs the values of matched nodes by role and position or keyword; surplus values stay single."""

from __future__ import annotations

from dataclasses import dataclass

from builder.match.nodes import Matching

SURPLUS = -1


@dataclass(slots=True)
class ValuePairs:
    """Value indices of both sides, row by row in the problem side's execution order.

    A value without counterpart has SURPLUS on the other side; surplus benchmark values follow the
    problem's values of the same node. `node` is the execution order of the problem's node.
    """

    node: list[int]
    problem: list[int]
    benchmark: list[int]


def pair_values(matching: Matching) -> ValuePairs:
    """Pair the values of all matched nodes that have any."""
    pairs = ValuePairs([], [], [])
    ours = matching.problem.dump.values.keys
    theirs = matching.benchmark.dump.values.keys
    for node in matching.problem.in_order:
        partner = matching.partner.get(node)
        if partner is None:
            continue
        (a, b), (c, d) = node.values, partner.values
        if a == b or c == d:
            # Values recorded on one side only (risk level, filter) compare as nothing.
            continue
        if ours[a:b] == theirs[c:d]:
            _extend(pairs, node.exec_order, range(a, b), range(c, d))
        else:
            _pair_by_key(pairs, node.exec_order, ours, theirs, (a, b, c, d))
    return pairs


def _pair_by_key(
    pairs: ValuePairs,
    node: int,
    ours: list[str],
    theirs: list[str],
    window: tuple[int, int, int, int],
) -> None:
    a, b, c, d = window
    waiting: dict[str, list[int]] = {}
    for index in range(d - 1, c - 1, -1):
        waiting.setdefault(theirs[index], []).append(index)
    for index in range(a, b):
        candidates = waiting.get(ours[index])
        _extend(pairs, node, [index], [candidates.pop() if candidates else SURPLUS])
    left_over = sorted(index for rest in waiting.values() for index in rest)
    _extend(pairs, node, [SURPLUS] * len(left_over), left_over)


def _extend(
    pairs: ValuePairs, node: int, problem: range | list[int], benchmark: range | list[int]
) -> None:
    pairs.node += [node] * len(problem)
    pairs.problem += problem
    pairs.benchmark += benchmark
