"""Which parameters of two programs of one model are one tensor, as a result file has them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from sqlalchemy import Row, inspect, select

from builder.errors import DatabaseError
from builder.results.database import ResultDatabase
from builder.results.reading import Results
from builder.results.records import Count
from builder.results.schema import graph, weight

WeightRelation = Literal["same", "reshaped", "joined", "split", "scaled", "differs"]

# Made on import: msgspec learns a type when first used, and crashes when two threads do so at once.
_decode_paths = msgspec.json.Decoder(list[str]).decode
_decode_relation = msgspec.json.Decoder(WeightRelation).decode


class SharedWeight(msgspec.Struct, frozen=True):
    """Parameters of the problem, and those of the benchmark that are the same tensor.

    Several on one side make up that of the other, in their order. `differs` where the numbers are
    others; `node` is one of the problem that the first stands in.
    """

    problem: list[str]
    benchmark: list[str]
    relation: WeightRelation
    by_hand: bool
    node: int


class SharedWeights(msgspec.Struct, frozen=True):
    """A page of the weights that a filter lets through; `all` are there without one."""

    all: Count
    total: Count
    offset: Count
    weights: list[SharedWeight]


def shared_weights(results: Results, step: int, rank: int) -> list[SharedWeight]:
    """The weights of a step and rank; none where names pair the runs, or the file lacks them.

    Raises DatabaseError for rows of another form.
    """
    if not isinstance(results, ResultDatabase):
        return []
    if not inspect(results.stored.engine).has_table(weight.name):
        return []  # a file of an earlier release
    place = graph.c.step == step, graph.c.rank == rank, graph.c.side == "problem"
    with results.stored.engine.connect() as connection:
        at = connection.execute(select(graph.c.id).where(*place)).scalar()
    if at is None:
        return []
    with results.stored.engine_at(at).connect() as connection:
        rows = connection.execute(select(weight).where(weight.c.graph == at))
        return [_weight(row) for row in rows]


def matching_weights(
    weights: list[SharedWeight], part: str, relation: WeightRelation | None
) -> list[SharedWeight]:
    """Those with `part` in a path of either side, in letters of any case, and of one relation."""
    wanted = part.casefold()
    return [
        each
        for each in weights
        if relation in (None, each.relation)
        if any(wanted in path.casefold() for path in (*each.problem, *each.benchmark))
    ]


def _weight(row: Row[Any]) -> SharedWeight:
    try:
        return SharedWeight(
            problem=_decode_paths(row.problem),
            benchmark=_decode_paths(row.benchmark),
            relation=_decode_relation(msgspec.json.encode(row.relation)),
            by_hand=bool(row.by_hand),
            node=int(row.node),
        )
    except (msgspec.MsgspecError, TypeError, ValueError) as error:  # a file may come from anywhere
        raise DatabaseError(f"table weight: {error}", "build the comparison again") from None
