"""Changes to nodes that lie over a database without being in it, such as those of manual pairs.

Queries read through them, so that filters, sorting and paging see the changed state.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import CTE, ColumnElement, FromClause, Integer, case, cast, column, func, select

from builder.reasons import Reason, encode
from builder.results.manual.measured_pair import MeasuredValue
from builder.results.schema import node

PATCHED = (
    "match",
    "match_reason",
    "score",
    "input_score",
    "introduced",
    "verdict",
    "worst_below",
    "divergent_below",
    "reasons",
)


@dataclass(frozen=True, slots=True)
class NodePatch:
    """The whole changeable state of one node, replacing what the database has."""

    match: int | None
    match_reason: str | None
    score: float | None
    input_score: float | None
    introduced: float | None
    verdict: str | None
    worst_below: float | None
    divergent_below: int
    reasons: Sequence[Reason] = ()

    def cells(self) -> list[object]:
        """The values in the order of PATCHED; reasons as the JSON text of the database."""
        *plain, reasons = (getattr(self, name) for name in PATCHED)
        return [*plain, encode(reasons)]


@dataclass(frozen=True, slots=True)
class GraphChange:
    """What patches do to the counts of one graph."""

    matched: int = 0
    divergent: int = 0
    worst: float | None = None


@dataclass(frozen=True, slots=True)
class Patches:
    """All changes of one database: by node id, by graph id, and measured values by problem node."""

    nodes: Mapping[int, NodePatch] = field(default_factory=dict)
    graphs: Mapping[int, GraphChange] = field(default_factory=dict)
    values: Mapping[int, Sequence[MeasuredValue]] = field(default_factory=dict)

    def of(self, nodes: Iterable[int]) -> Patches:
        """The changes of some nodes alone: a query takes in all that it is given."""
        return Patches({id_: self.nodes[id_] for id_ in nodes if id_ in self.nodes})


class NodeSource:
    """The node table as queries see it: patched columns where there are patches."""

    def __init__(self, patches: Patches) -> None:
        self.table: FromClause = node
        self._patch: CTE | None = None
        if patches.nodes:
            self._patch = _patch_table(patches.nodes)
            self.table = node.outerjoin(self._patch, self._patch.c.id == node.c.id)

    def __getitem__(self, name: str) -> ColumnElement[Any]:
        if self._patch is None or name not in PATCHED:
            return node.c[name]
        patched = case((self._patch.c.id.is_not(None), self._patch.c[name]), else_=node.c[name])
        return patched.label(name)


def _patch_table(patches: Mapping[int, NodePatch]) -> CTE:
    # One JSON text carries all rows: SQLite limits the number of bound parameters, not their size.
    rows = json.dumps([[id_, *patch.cells()] for id_, patch in patches.items()])
    entry = func.json_each(rows).table_valued(column("value"))
    names = ("id", *PATCHED)
    id_, *cells = (func.json_extract(entry.c.value, f"$[{i}]") for i in range(len(names)))
    # SQLite makes an index for a join only where both sides are integers by declaration: without
    # the cast each node is held against every patch.
    cast_id = cast(id_, Integer)
    labels = [cell.label(name) for cell, name in zip((cast_id, *cells), names, strict=True)]
    return select(*labels).cte("patch")
