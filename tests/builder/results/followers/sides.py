"""Small sides for tests of rows: nodes given by name, parent, and what they match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from builder.results.followers.rows import MergedRows
from builder.results.node_words import packed
from builder.results.side_cells import by_column
from builder.results.side_nodes import SideNodes, from_cells


class Entry(NamedTuple):
    """A node of a side: `parent` and `match` are places in lists, None for none.

    `reads` is the score of its inputs.
    """

    name: str
    parent: int | None = None
    match: int | None = None
    score: float | None = None
    kind: str = "module"
    direction: str = "forward"
    reads: float | None = None


def side(entries: Sequence[Entry], first: int, other: int) -> SideNodes:
    """Entries in pre-order with ids from `first`; their matches count from `other`."""
    rows = [
        (
            first + index,
            -1 if entry.parent is None else first + entry.parent,
            -1 if entry.match is None else other + entry.match,
            0,
            packed(
                {
                    "kind": "root" if entry.parent is None else entry.kind,
                    "direction": entry.direction,
                    "verdict": None,
                    "overflow": None,
                }
            ),
            entry.score,
            entry.reads,
            -1,
            index,
            None,
            entry.name,
        )
        for index, entry in enumerate(entries)
    ]
    return from_cells(by_column(rows))


def both(problem: Sequence[Entry], benchmark: Sequence[Entry]) -> tuple[SideNodes, SideNodes]:
    """Two sides whose ids do not overlap; matches of the problem are mirrored."""
    back = {e.match: index for index, e in enumerate(problem) if e.match is not None}
    mirrored = [e._replace(match=back.get(index)) for index, e in enumerate(benchmark)]
    base = 1 + len(problem)
    return side(problem, 1, base), side(mirrored, base, 1)


def names(rows: MergedRows, places: Iterable[int]) -> list[str]:
    """What merged rows are called, for assertions that read well."""
    found = []
    for row in places:
        ours, theirs = int(rows.ours[row]), int(rows.theirs[row])
        found.append(rows.problem.names[ours] if ours >= 0 else f"+{rows.benchmark.names[theirs]}")
    return found
