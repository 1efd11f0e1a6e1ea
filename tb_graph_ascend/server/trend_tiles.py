"""The heat map's rows as small lines beside each other: the same rows, order and folding."""

from __future__ import annotations

from collections.abc import Sequence

from builder.series.heat import heat_rows, keys_of, ordered_names
from builder.series.run import TrendRun
from tb_graph_ascend.server.trend_messages import TrendTile, TrendTiles
from tb_graph_ascend.server.trend_queries import TilesQuery
from tb_graph_ascend.server.trend_views import (
    finite_numbers,
    row_message,
    values_at_columns,
    window_of,
)

Lines = dict[str, list[float | None]]


def trend_tiles_of(run: TrendRun, other: TrendRun | None, query: TilesQuery) -> TrendTiles:
    """A page of small lines; only the series of this page are read."""
    rows = heat_rows(ordered_names(run, query.kind), frozenset(query.open.split(",")) - {""})
    shown = rows[query.offset : query.offset + query.limit]
    names = [row.target for row in shown if row.target is not None]
    keys = keys_of(query.kind, names)
    first, last = window_of(run, query.first, query.last)
    drawn = run.heat(keys, query.statistic, (first, last), query.points)
    own = _by_name(names, [finite_numbers(values) for values in drawn.values])
    beside: Lines = {}
    if other is not None:
        theirs = values_at_columns(other, keys, query.statistic, drawn.steps, last)
        beside = _by_name(names, [finite_numbers(values) for values in theirs])
    tiles = [
        TrendTile(row_message(row), own.get(row.target or "", []), beside.get(row.target or "", []))
        for row in shown
    ]
    return TrendTiles(len(rows), query.offset, drawn.steps.tolist(), tiles)


def _by_name(names: Sequence[str], values: Sequence[list[float | None]]) -> Lines:
    return dict(zip(names, values, strict=True))
