"""Rows of a result database as the records that queries answer with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
from sqlalchemy import Row

from builder.finding_certainty import Certainty
from builder.reasons import MeasureTaken, decode
from builder.results.manual.patches import GraphChange
from builder.results.records import (
    AcrossCell,
    Finding,
    FindingPlace,
    Graph,
    HandedOn,
    Measure,
    Node,
    Pair,
    Side,
    Status,
    ValuePair,
)
from msprobe_core.format.bounded import parse_json

# Made on import: msgspec learns a type when first used, and crashes when two threads do so at once.
_decode_places = msgspec.json.Decoder(list[FindingPlace]).decode
_decode_certainty = msgspec.json.Decoder(Certainty).decode


def with_measures(pairs: list[ValuePair], problem: Node | None) -> list[ValuePair]:
    """Put what extensions measured beside the measures of each value."""
    added: dict[str, dict[str, Measure]] = {}
    for reason in problem.reasons if problem is not None else ():
        if isinstance(reason, MeasureTaken):
            number = cast("Measure", reason.number)
            added.setdefault(reason.value, {})[reason.name] = number
    if not added:
        return pairs
    return [
        msgspec.structs.replace(
            pair, measures={**pair.measures, **added.get(f"{pair.role}.{pair.path}", {})}
        )
        for pair in pairs
    ]


def node_of(row: Row[Any], sides: dict[int, Side]) -> Node:
    """A row of the table `node` as a record."""
    id_, graph_id, *cells, reasons = tuple(row)
    cells[9] = bool(cells[9])
    fields: list[Any] = [id_, graph_id, sides.get(graph_id), *cells, decode(reasons)]
    return Node(*fields)


def cell_of(
    place: tuple[int, int], occurrence: Node | None, handed_on: Mapping[int, HandedOn]
) -> AcrossCell:
    """A node in one step and rank; empty where it does not occur."""
    if occurrence is None:
        return AcrossCell(*place, None, None, None, None, None)
    handed = handed_on.get(occurrence.id)
    return AcrossCell(
        *place,
        occurrence.id,
        occurrence.score,
        occurrence.input_score,
        occurrence.verdict,
        occurrence.overflow,
        handed.score if handed is not None else None,
    )


def pair_of(rows: Sequence[Row[Any]], changes: Mapping[int, GraphChange]) -> Pair:
    """The graphs of a step and rank as one record, with what patches change of them by graph."""
    status, error = state_of(rows)
    sides = {row.side: row for row in rows if row.status == "ok"}
    problem, benchmark = sides.get("problem"), sides.get("benchmark")
    change = changes.get(problem.id if problem else -1, GraphChange())
    matched = (problem.matched if problem else 0) + change.matched
    known = [w for w in (problem.worst if problem else None, change.worst) if w is not None]
    return Pair(
        step=rows[0].step,
        rank=rows[0].rank,
        status=status,
        error=error,
        worst=max(known, default=None),
        divergent=(problem.divergent if problem else 0) + change.divergent,
        matched=matched,
        unmatched_problem=problem.nodes - matched if problem and benchmark else 0,
        unmatched_benchmark=benchmark.nodes - matched if benchmark else 0,
        begins=problem.begins if problem else None,
    )


def graph_of(row: Row[Any], root: Node) -> Graph:
    """One side of a pair."""
    return Graph(
        id=row.id,
        side=row.side,
        framework=row.framework,
        level=row.level,
        dump_dir=row.dump_dir,
        micro_steps=row.micro_steps,
        nodes=row.nodes,
        root=root,
    )


def finding_of(row: Row[Any], named: Node) -> Finding:
    """A row of the table `finding` as a record."""
    return Finding(
        id=row.id,
        step=row.step,
        rank=row.rank,
        kind=row.kind,
        node=named,
        score=row.score,
        input_score=row.input_score,
        introduced=row.introduced,
        reasons=decode(row.reasons),
        propagated_to=row.propagated_to,
        places=_places(row.places),
        perhaps=row.perhaps,
        divergent=row.divergent,
        certainty=certainty_in(row.certainty),
        line_alone=bool(row.line_alone),
    )


def _places(text: str | None) -> list[FindingPlace]:
    try:
        return _decode_places(text) if text else []
    except msgspec.MsgspecError:
        return []  # a file may come from anywhere


def state_of(rows: Sequence[Row[Any]]) -> tuple[Status, str | None]:
    """Whether a pair could be compared, and why not."""
    return next(((r.status, r.error) for r in rows if r.status != "ok"), ("ok", None))


def certainty_in(text: str | None) -> Certainty | None:
    """The certainty in a cell; None where there is none, or one of a newer release."""
    try:
        return None if text is None else _decode_certainty(text)
    except msgspec.MsgspecError:
        return None


def object_of(text: str | None) -> dict[str, Any]:
    """The JSON object in a cell; an empty one where there is none."""
    try:
        decoded = parse_json(text or "{}")
    except ValueError:
        return {}
    return decoded if isinstance(decoded, dict) else {}
