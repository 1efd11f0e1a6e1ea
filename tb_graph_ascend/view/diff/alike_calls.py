"""Guesses for calls of one statement: what perhaps came to one came to those that read alike.

A loop splits a value, and makes the same call of each part. What tells the part of one call from
its neighbours' may be missing for another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from builder.results.node_words import Bools, Ints
from tb_graph_ascend.view.diff.carrying import GUESS, CarryLinks
from tb_graph_ascend.view.diff.merge import MergedRows

StackReader: TypeAlias = Callable[[Sequence[int]], Mapping[int, int]]
_Statement: TypeAlias = tuple[int, int, str]


def alike_links(
    rows: MergedRows, guessed: CarryLinks, reading: Bools, fed: Bools, read_stacks: StackReader
) -> CarryLinks:
    """From where guesses lead to calls, to calls of the same statement to which nothing leads.

    `reading` are rows with inputs that differ; `fed` those to which a recorded call hands one.
    """
    known = np.zeros(len(rows), dtype=bool)
    known[guessed.end] = True
    lost = np.flatnonzero(reading & ~fed & ~known).tolist()
    told = np.flatnonzero(reading & known).tolist()
    if not lost or not told:
        return CarryLinks(*(np.empty(0, dtype=np.int64) for _ in range(3)))
    statement = _statements(rows, [*told, *lost], read_stacks)
    by_statement: dict[_Statement, list[int]] = {}
    for row in told:
        if row in statement:
            by_statement.setdefault(statement[row], []).append(row)
    starts, ends = [guessed.start[:0]], [guessed.end[:0]]
    for row in lost:
        alike = by_statement.get(statement[row], []) if row in statement else []
        if alike:
            nearest = min(alike, key=lambda one: abs(one - row))
            starts.append(guessed.start[guessed.end == nearest])
            ends.append(np.full(len(starts[-1]), row, dtype=np.int64))
    start, end = np.concatenate(starts), np.concatenate(ends)
    return CarryLinks(start, end, np.full(len(start), GUESS, dtype=np.int64))


def _statements(
    rows: MergedRows, chosen: Sequence[int], read_stacks: StackReader
) -> dict[int, _Statement]:
    """Of calls whose stacks are known the stack, the row around them and their name."""
    keys: Ints = rows.key[np.array(chosen, dtype=np.int64)]
    stacks = read_stacks(keys.tolist())
    found = {}
    for row, key in zip(chosen, keys.tolist(), strict=True):
        if key in stacks and rows.ours[row] >= 0:
            name = rows.problem.names[int(rows.ours[row])].rsplit(".", 2)[0]
            found[row] = (stacks[key], int(rows.parent[row]), name)
    return found
