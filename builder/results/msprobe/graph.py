"""One pair of graphs of a file that msprobe's own builder wrote, as the records of our queries.

Such a file has text keys and no tree columns, so a pair is read whole and kept by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_args

import msgspec

from builder.compare.score import THRESHOLD as THRESHOLD
from builder.match.tree import TreeNode
from builder.reasons import ParallelMerge, Reason
from builder.results.records import Kind, Node, Overflow, Side, Verdict
from msprobe_core.format import EntryName, NameSyntaxError, parse_entry

COLUMNS = (
    "rowid, node_name, node_type, up_node, precision_index, overflow_level, micro_step_id, "
    "matched_node_link, node_order, parallel_merge_info"
)
_KINDS: dict[str, Kind] = {"0": "module", "1": "api", "9": "collection"}
# The bounds of msprobe's colours: pass below 0.3, warning below 0.6, error above.
_WARNING, _ERROR = 0.3, 0.6


class Row(NamedTuple):
    """The cells of COLUMNS."""

    id: int
    name: str
    type: str
    parent: str | None
    precision: float | None
    overflow: str | None
    micro_step: int
    link: str | None
    order: int
    merge: str | None


@dataclass(frozen=True, slots=True)
class Passed:
    """A value that one node put out and another read; `key` is its full name among the inputs."""

    producer: int
    consumer: int
    key: str


@dataclass(slots=True)
class MsprobePair:
    """Both sides of a step and rank: nodes and children by id, in pre-order per side."""

    nodes: dict[int, Node] = field(default_factory=dict)
    children: dict[int, list[int]] = field(default_factory=dict)
    roots: dict[Side, int] = field(default_factory=dict)
    passed: dict[Side, list[Passed]] = field(default_factory=dict)
    step: int = 0
    rank: int = 0


def make_pair(
    step: int, rank: int, rows: dict[Side, Sequence[Row]], graphs: dict[Side, int]
) -> MsprobePair:
    """Arrange the rows of both sides; `graphs` are the ids that the graphs go by."""
    pair = MsprobePair(step=step, rank=rank)
    ids = {side: {row.name: row.id for row in listed} for side, listed in rows.items()}
    comparison = all(rows.get(side) for side in ("problem", "benchmark"))
    for side, listed in rows.items():
        if listed:
            other = ids["benchmark" if side == "problem" else "problem"] if comparison else None
            _add_side(pair, side, graphs[side], listed, other)
    return pair


def _add_side(
    pair: MsprobePair,
    side: Side,
    graph: int,
    rows: Sequence[Row],
    other: dict[str, int] | None,
) -> None:
    by_name = {row.name: row for row in rows}
    root = next((row for row in rows if not row.parent), rows[-1])
    below: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.order):
        if row is not root:
            # What has lost its parent is shown at the root rather than not at all.
            parent = row.parent if row.parent in by_name and row.parent != row.name else root.name
            below.setdefault(str(parent), []).append(row)
    _break_cycles(root, below)
    pair.roots[side] = root.id
    made = _walk(pair, root, below, (side, graph), other)
    _count_below(pair, made)


def _break_cycles(root: Row, below: dict[str, list[Row]]) -> None:
    """Show what is its own ancestor at the root: the first of each cycle, the others below it."""
    parents = {child.name: name for name, children in below.items() for child in children}
    reached: set[str] = {root.name}
    for start in list(parents):
        chain, name = [], start
        while name not in reached:
            reached.add(name)
            chain.append(name)
            name = parents[name]
        if name in chain:
            cycle = chain[chain.index(name) :]
            first = min(cycle, key=lambda one: _row(below, parents, one).order)
            row = _row(below, parents, first)
            below[parents[first]].remove(row)
            below.setdefault(root.name, []).append(row)
            parents[first] = root.name


def _row(below: dict[str, list[Row]], parents: dict[str, str], name: str) -> Row:
    return next(row for row in below[parents[name]] if row.name == name)


def _walk(
    pair: MsprobePair,
    root: Row,
    below: dict[str, list[Row]],
    place: tuple[Side, int],
    other: dict[str, int] | None,
) -> list[int]:
    """Add the nodes in pre-order."""
    made: list[int] = []
    pending: list[tuple[Row, int | None, int, int]] = [(root, None, 0, 0)]
    while pending:
        row, parent, position, depth = pending.pop()
        children = below.pop(row.name, [])
        pair.nodes[row.id] = _node(row, parent, position, depth, len(children), place, other)
        pair.children[row.id] = [child.id for child in children]
        made.append(row.id)
        numbered = list(enumerate(children))
        pending += [(child, row.id, i, depth + 1) for i, child in reversed(numbered)]
    return made


def _node(
    row: Row,
    parent: int | None,
    position: int,
    depth: int,
    children: int,
    place: tuple[Side, int],
    other: dict[str, int] | None,
) -> Node:
    kind: Kind = "root" if parent is None else _KINDS.get(row.type, "module")
    match, reason = _match(row, kind, other)
    entry = _entry(row.name) if kind in ("module", "api") else None
    score = score_of(row.precision)
    return Node(
        id=row.id,
        graph=place[1],
        side=place[0],
        parent=parent,
        position=position,
        order=row.order,
        depth=depth,
        children=children,
        name=row.name,
        label=TreeNode(row.name, kind, entry).label,
        kind=kind,
        direction=entry.direction if entry is not None else None,
        recomputed=False,
        micro_step=row.micro_step or 0,
        match=match,
        match_reason=reason,
        score=score,
        input_score=None,
        introduced=None,
        verdict=verdict_of(score),
        overflow=overflow_of(row.overflow),
        worst_below=None,
        divergent_below=0,
        source=None,
        reasons=_merged(row.merge),
    )


def _match(row: Row, kind: Kind, other: dict[str, int] | None) -> tuple[int | None, str | None]:
    if other is None:
        return None, None
    link = listed(row.link)
    partner = other.get(str(link[-1])) if link else None
    if partner is None:
        return None, None if kind in ("root", "collection") else "absent"
    return partner, "name" if link[-1] == row.name else "mapping"


def score_of(precision: float | None) -> float | None:
    """The file's precision index as a score."""
    return None if precision is None else min(1.0, max(0.0, float(precision)))


def overflow_of(level: str | None) -> Overflow | None:
    """The level of a cell; None for a word that is none."""
    return level if level in get_args(Overflow) else None  # type: ignore[return-value]  # one of them, as asked


def verdict_of(score: float | None) -> Verdict | None:
    """The verdict that msprobe's colours give a score."""
    if score is None:
        return None
    if score < _WARNING:
        return "pass"
    return "warning" if score < _ERROR else "error"


def _entry(name: str) -> EntryName | None:
    try:
        return parse_entry(name)
    except NameSyntaxError:
        return None


def _merged(text: str | None) -> list[Reason]:
    return [ParallelMerge(str(line)) for line in listed(text)]


def _count_below(pair: MsprobePair, made: Sequence[int]) -> None:
    """Fill in the worst score and the number of divergent nodes below each node."""
    worst: dict[int, float | None] = {}
    divergent: dict[int, int] = {}
    for id_ in reversed(made):
        below = [pair.nodes[child] for child in pair.children[id_]]
        scores = [s for c in below for s in (c.score, worst.get(c.id)) if s is not None]
        worst[id_] = max(scores, default=None)
        divergent[id_] = sum(
            divergent[c.id] + (c.score is not None and c.score > THRESHOLD) for c in below
        )
        pair.nodes[id_] = msgspec.structs.replace(
            pair.nodes[id_], worst_below=worst[id_], divergent_below=divergent[id_]
        )


def listed(text: str | None) -> list[Any]:
    """A JSON list in a cell; empty where there is none."""
    if not text or text == "[]":
        return []
    try:
        decoded = msgspec.json.decode(text)
    except (ValueError, TypeError):
        return []
    return decoded if isinstance(decoded, list) else []
