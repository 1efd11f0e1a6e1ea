"""What a call that one run alone makes hands on: it has no partner, but what reads it has.

The reader gets something else in the other run, from another call; how far the two are apart is the
nearest to a score that such a call can have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Engine, Join, Select, and_, select

from builder.results.records import HandedOn
from builder.results.schema import flow, node, record
from builder.results.stored_file import LARGEST, MOST_PARAMETERS, StoredFile

_reader, _partner, _scored = node.alias(), node.alias(), record.alias()
_COLUMNS = flow.c.producer, flow.c.value, _scored.c.score


def handed_on(stored: StoredFile, ids: Sequence[int]) -> dict[int, HandedOn]:
    """What those of these nodes hand on that have no partner, by their ids.

    There is nothing for nodes whose values no call of both runs reads, nor in files without flow.
    """
    found: dict[int, HandedOn] = {}
    if not stored.has_flow:
        return found
    for engine, part in stored.by_volume(id_ for id_ in ids if id_ <= LARGEST):
        if len(part) <= MOST_PARAMETERS:
            found |= _handed(engine, flow.c.producer.in_(part))
            continue
        # So many are all of a pair: one statement over what lies between them takes a tenth.
        wanted = set(part)
        among = _handed(engine, flow.c.producer.between(min(part), max(part)))
        found |= {id_: one for id_, one in among.items() if id_ in wanted}
    return found


def _handed(engine: Engine, wanted: ColumnElement[bool]) -> dict[int, HandedOn]:
    found: dict[int, HandedOn] = {}
    with engine.connect() as connection:
        for query in (_read_in_the_problem(), _read_in_the_benchmark()):
            for row in connection.execute(query.where(wanted, _scored.c.score.is_not(None))):
                known = found.get(row.producer)
                if isinstance(row.score, float) and (known is None or known.score < row.score):
                    found[row.producer] = HandedOn(row.value, row.score)
    return found


def _alone() -> Join:
    """Values that nodes without a partner put out and nodes with one read."""
    joined = flow.join(node, and_(node.c.id == flow.c.producer, node.c.match.is_(None)))
    return joined.join(_reader, _reader.c.id == flow.c.consumer)


def _read_in_the_problem() -> Select[Any]:
    joined = _alone().join(_scored, _scored.c.id == flow.c.value)
    order = _reader.c.exec_order, flow.c.value
    return (
        select(*_COLUMNS).select_from(joined).where(_reader.c.match.is_not(None)).order_by(*order)
    )


def _read_in_the_benchmark() -> Select[Any]:
    """Scores stand with the problem's values: here at the partner of the reader."""
    joined = _alone().join(_partner, _partner.c.id == _reader.c.match)
    last = _partner.c.first_value + _partner.c.value_count - 1
    own = _scored.c.id.between(_partner.c.first_value, last)
    joined = joined.join(_scored, and_(own, _scored.c.partner == flow.c.value))
    return select(*_COLUMNS).select_from(joined).order_by(_reader.c.exec_order, flow.c.value)
