"""Turns the values of one side into database rows, column by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from builder.compare.columns import Columns
from builder.compare.comparison import Comparison
from builder.compare.statistics import Statistics
from builder.compare.tensors import TensorMeasures
from builder.dump.forms import Form, Forms
from builder.dump.values import Record
from builder.match.value_pairing import SURPLUS
from builder.write.node_rows import Full, Sparse
from msprobe_core.format import canonical_dtype

_STATISTICS = ("max", "min", "mean", "norm")
_MEASURES = (
    "cosine",
    "euc_dist",
    "max_abs_err",
    "max_rel_err",
    "one_thousandth",
    "five_thousandths",
)


def form_rows(forms: Forms, base: int) -> list[tuple[object, ...]]:
    """The rows of all forms, in the order of the table's columns; the first gets the id `base`."""
    return [(base + number, *_form_cells(form)) for number, form in enumerate(forms.listed())]


def record_columns(
    records: Sequence[Record], base: int, columns: Columns, form_base: int
) -> tuple[Full, Sparse]:
    """One side's values on their own: full and sparse columns of the table `record`."""
    full: Full = {
        "id": range(base, base + len(records)),
        "form": (columns.forms + form_base).tolist(),
        **dict(zip(_STATISTICS, _statistic_cells(columns.statistics))),
    }
    return full, {
        "checksum": [r.md5 if r.md5 is None else str(r.md5) for r in records],
        "file": [record.data_name for record in records],
        "sketch": [_packed(record.sketch) for record in records],
        "unwritten": [1 if record.unwritten else None for record in records],
        "nan_count": [record.nan_count or None for record in records],
        "inf_count": [record.inf_count or None for record in records],
    }


def _packed(sketch: str | None) -> bytes | str | None:
    """A sketch in half the room of its digits; what is damaged stays as it is."""
    try:
        return None if sketch is None else bytes.fromhex(sketch)
    except ValueError:
        return sketch


def pair_columns(comparison: Comparison, count: int, benchmark_base: int) -> tuple[Full, Sparse]:
    """What the problem's `count` values have beyond their own: partner, error, score, measures."""
    ours, theirs = comparison.pairs.problem, comparison.pairs.benchmark
    rows = np.flatnonzero((ours != SURPLUS) & (theirs != SURPLUS))
    places = ours[rows]
    partner = np.full(count, -1, dtype=np.int64)
    error, score = np.full(count, np.nan), np.full(count, np.nan)
    partner[places] = theirs[rows] + benchmark_base
    error[places], score[places] = comparison.scores.error[rows], comparison.scores.stated[rows]
    full: Full = {"error": error.tolist(), "score": score.tolist()}
    if comparison.elements.tensors:
        full |= _tensor_columns(comparison, count)
    let_pass: list[str | None] = [None] * count
    for row, by in comparison.scores.let_pass.items():
        if ours[row] != SURPLUS:
            let_pass[int(ours[row])] = by
    return full, {"partner": partner.tolist(), "let_pass": let_pass}


def _tensor_columns(comparison: Comparison, count: int) -> Full:
    table = np.full((len(_MEASURES), count), np.nan)
    for row, measures in comparison.elements.tensors.items():
        table[:, comparison.pairs.problem[row]] = _measures(measures)
    return dict(zip(_MEASURES, table.tolist(), strict=True))


def _measures(measures: TensorMeasures) -> list[float]:
    return [getattr(measures, name) for name in _MEASURES]


def _statistic_cells(statistics: Statistics) -> list[list[float | str]]:
    """What is not recorded stays NaN, which SQLite stores as NULL; a recorded NaN is text."""
    nan = statistics.recorded & np.isnan(statistics.table)
    cells = np.where(nan, "nan", statistics.table.astype(object)) if nan.any() else statistics.table
    return list(cells.tolist())


def _form_cells(form: Form) -> tuple[object, ...]:
    role, _, path = form.key.partition(".")
    shape = None if form.shape is None else ",".join(map(str, form.shape))
    dtype = None if form.dtype is None else canonical_dtype(form.dtype)
    return role, path, form.type, dtype, shape, form.requires_grad, form.scalar
