"""Which nodes of a pair a list shows, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from builder.results.records import Direction, Kind, Side, Verdict

Show = Literal["divergent", "overflow", "unmatched"]
Sort = Literal["order", "score", "introduced", "name", "overflow"]


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
