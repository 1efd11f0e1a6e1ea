"""The rows that the page sees of a kind, as a heat map and as small lines beside each other."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.series.heat import (
    HeatRow,
    cells_of,
    heat_rows,
    keys_of,
    leaves_of,
    one_run_cells,
    ordered_names,
    two_run_cells,
)
from builder.series.pieces import Steps, Values
from builder.series.run import Key, TrendRun
from tb_graph_ascend.server.trend_messages import TrendHeat, TrendRow, TrendTile, TrendTiles
from tb_graph_ascend.server.trend_queries import HeatQuery, RowsQuery, TilesQuery
from tb_graph_ascend.server.trend_views import finite_numbers

Lines = dict[str, list[float | None]]


@dataclass(frozen=True, slots=True)
class RowPage:
    """The rows from an offset on, of `total`; `names` are the targets that all rows stand for."""

    names: list[str]
    total: int
    rows: list[HeatRow]


def heat(run: TrendRun, other: TrendRun | None, query: HeatQuery) -> TrendHeat:
    """A page of the rows of a kind's heat map."""
    page = _page(run, query)
    leaves = leaves_of(page.rows)  # what other rows are drawn from is not read
    keys = keys_of(query.kind, [page.names[leaf] for leaf in leaves])
    low, high = _window(run, query.first, query.last)
    drawn = run.heat(keys, query.statistic, (low, high), query.columns)
    if other is None:
        cells = one_run_cells(drawn.values, query.absolute)
    else:
        theirs = _values_at_columns(other, keys, query.statistic, drawn.steps, high)
        cells = two_run_cells(drawn.values, theirs)
    shown = [_row_message(row) for row in page.rows]
    drawn_rows = cells_of(page.rows, leaves, cells, two=other is not None)
    packed = base64.b64encode(drawn_rows.tobytes()).decode("ascii")
    return TrendHeat(page.total, query.offset, shown, drawn.steps.tolist(), packed)


def tiles(run: TrendRun, other: TrendRun | None, query: TilesQuery) -> TrendTiles:
    """A page of small lines; only the series of this page are read."""
    page = _page(run, query)
    names = [row.target for row in page.rows if row.target is not None]
    keys = keys_of(query.kind, names)
    low, high = _window(run, query.first, query.last)
    drawn = run.heat(keys, query.statistic, (low, high), query.points)
    own = _by_name(names, drawn.values)
    beside: Lines = {}
    if other is not None:
        theirs = _values_at_columns(other, keys, query.statistic, drawn.steps, high)
        beside = _by_name(names, theirs)
    shown = [
        TrendTile(
            _row_message(row), own.get(row.target or "", []), beside.get(row.target or "", [])
        )
        for row in page.rows
    ]
    return TrendTiles(page.total, query.offset, drawn.steps.tolist(), shown)


def _page(run: TrendRun, query: RowsQuery) -> RowPage:
    """The rows that a request sees, in the order of the model, folded as it says."""
    names = ordered_names(run, query.kind)
    rows = heat_rows(names, frozenset(query.open.split(",")) - {""})
    return RowPage(names, len(rows), rows[query.offset : query.offset + query.limit])


def _window(run: TrendRun, first: int | None, last: int | None) -> tuple[int, int]:
    """The steps that are meant: those asked for, else all."""
    steps = run.steps
    low = first if first is not None else int(steps[0]) if len(steps) else 0
    return low, last if last is not None else int(steps[-1]) if len(steps) else 0


def _values_at_columns(
    other: TrendRun, keys: Sequence[Key], statistic: str, edges: Steps, last: int
) -> Values:
    """The largest values of the other run in the columns of the first, whatever its own steps."""
    known = {target.key for target in other.targets}
    values = np.full((len(keys), len(edges)), -np.inf, dtype=np.float32)
    rows = [i for i, key in enumerate(keys) if key in known]
    if not len(edges) or not rows:
        return values
    found = other.heat([keys[i] for i in rows], statistic, (int(edges[0]), last), len(edges))
    column = np.clip(np.searchsorted(edges, found.steps, side="right") - 1, 0, None)
    for at, into in enumerate(column.tolist()):
        values[rows, into] = np.maximum(values[rows, into], found.values[:, at])
    return values


def _row_message(row: HeatRow) -> TrendRow:
    return TrendRow(row.name, row.depth, len(row.leaves), row.is_open, row.target)


def _by_name(names: Sequence[str], values: Values) -> Lines:
    return dict(zip(names, map(finite_numbers, _rounded(values)), strict=True))


def _rounded(values: Values) -> NDArray[np.float64]:
    """Six digits of each, which are written in half the letters of a float32's own."""
    wide = values.astype(np.float64)
    with np.errstate(all="ignore"):
        unit = 10.0 ** (5 - np.floor(np.log10(np.abs(wide))))
        found: NDArray[np.float64] = np.round(wide * unit) / unit
    return np.where(np.isfinite(found), found, wide)  # of 0 and of what is no number, itself
