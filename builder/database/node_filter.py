"""Which nodes of a pair a list shows, and in which order: a filter as SQL conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, and_, false, func

from builder.database.patches import NodeSource
from builder.database.records import Direction, Kind, Side, Verdict
from builder.database.schema import node

Show = Literal["divergent", "overflow", "unmatched", "propagated"]
Sort = Literal["order", "score", "introduced", "name"]

_SORTS: dict[Sort, str] = {
    "order": "exec_order",
    "score": "score",
    "introduced": "introduced",
    "name": "name",
}


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Which nodes of a pair are wanted; None means any. `name` is a part of it in any case."""

    show: Show | None = None
    source: int | None = None
    side: Side | None = None
    direction: Direction | None = None
    kind: Kind | None = None
    verdict: Verdict | None = None
    min_score: float | None = None
    name: str | None = None
    sort: Sort = "order"
    descending: bool = False


def conditions(
    wanted: NodeFilter, nodes: NodeSource, threshold: float | None
) -> list[ColumnElement[bool]]:
    """The conditions of a filter; `threshold` is None in a file without comparison."""
    found: list[ColumnElement[bool]] = [
        nodes[name] == getattr(wanted, name)
        for name in ("source", "direction", "kind", "verdict")
        if getattr(wanted, name) is not None
    ]
    if wanted.min_score is not None:
        found.append(nodes["score"] >= wanted.min_score)
    if wanted.name:
        found.append(func.instr(func.lower(node.c.name), wanted.name.lower()) > 0)
    if wanted.show is not None:
        found.append(_shown(wanted.show, nodes, threshold))
    return found


def ordering(wanted: NodeFilter, nodes: NodeSource) -> list[ColumnElement[Any]]:
    """The order of a list; equal nodes stand problem side first, from the root down."""
    column = nodes[_SORTS[wanted.sort]]
    direction = column.desc() if wanted.descending else column.asc()
    return [direction.nulls_last(), node.c.graph.asc(), node.c.id.asc()]


def _shown(show: Show, nodes: NodeSource, threshold: float | None) -> ColumnElement[bool]:
    if show == "overflow":
        return node.c.overflow.is_not(None)
    if threshold is None:
        return false()
    if show == "divergent":
        return nodes["score"] > threshold
    if show == "propagated":
        return and_(node.c.source.is_not(None), node.c.source != node.c.id)
    return and_(nodes["match"].is_(None), node.c.kind.not_in(("root", "collection")))
