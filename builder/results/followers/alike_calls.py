"""Guesses for calls of one statement: what perhaps came to one came to those that read alike.

A loop splits a value, and makes the same call of each part. What tells the part of one call from
its neighbours' may be missing for another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from builder.results.followers.carry_edges import PASSED, Edges, edges, joined
from builder.results.followers.rows import MergedRows
from builder.results.node_words import Bools, Ints

StackReader: TypeAlias = Callable[[Sequence[int]], Mapping[int, int]]
_Statement: TypeAlias = tuple[int, int, str]


def alike_edges(
    rows: MergedRows, guessed: Edges, reading: Bools, fed: Bools, read_stacks: StackReader
) -> Edges:
    """From where guesses lead to calls, to calls of the same statement to which nothing leads.

    `reading` are rows with inputs that differ; `fed` those to which a recorded call hands one.
    """
    known = np.zeros(len(rows), dtype=bool)
    known[guessed.end] = True
    lost = np.flatnonzero(reading & ~fed & ~known).tolist()
    told = np.flatnonzero(reading & known).tolist()
    if not lost or not told:
        return joined(())
    statement = _statements(rows, [*told, *lost], read_stacks)
    by_statement: dict[_Statement, list[int]] = defaultdict(list)
    for row in told:
        if row in statement:
            by_statement[statement[row]].append(row)
    found = []
    for row in lost:
        alike = by_statement.get(statement[row], []) if row in statement else []
        if alike:
            nearest = min(alike, key=lambda one: abs(one - row))
            start = guessed.start[guessed.end == nearest]
            found.append(edges(start, np.full(len(start), row), PASSED, certain=False))
    return joined(found)


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
