"""Turns the files of mindstudio-probe's monitor into trends, with alerts as if they were ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

from msprobe.errors import CheckError
from msprobe.trends.monitor_csv import find_tables, read_table
from msprobe.trends.trend_db import Row, read_trend_db
from msprobe_core.format.series import STATISTICS
from msprobe_core.monitor.step_values import Measured, StepValues
from msprobe_core.monitor.targets import TargetBook
from msprobe_core.monitor.trend_recorder import Recorder

_KINDS = {"grad_reduced": "grad", "param_updated": "param"}
_PASSED_OVER = frozenset({"param_origin", "grad_unreduced"})
"""The weights before a step are those after the last one; unreduced gradients are one rank's."""


def import_peer(source: Path, target: Path) -> tuple[int, int]:
    """Import a `.trend.db` or a folder of tables; how many steps and series. Raises CheckError."""
    if target.exists() and any(target.iterdir()):
        raise CheckError(f"{target}: something is here already", "give an empty folder by -o")
    rows = sorted(_rows(source), key=lambda row: (row.rank, row.step, row.micro_step))
    steps: set[int] = set()
    series = 0
    for rank, mine in groupby(rows, key=lambda row: row.rank):
        numbers, count = _write_rank(target, rank, mine)
        steps |= numbers
        series = max(series, count)
    return len(steps), series


def _rows(source: Path) -> Iterator[Row]:
    if source.is_file():
        yield from read_trend_db(source)
        return
    for table in find_tables(source):
        yield from read_table(table)


def _write_rank(target: Path, rank: int, rows: Iterable[Row]) -> tuple[set[int], int]:
    recorder = Recorder(target, rank, {"modules": [], "source": "mindstudio-probe"})
    book = TargetBook()
    steps: set[int] = set()
    for step, mine in groupby(rows, key=lambda row: row.step):
        steps.add(step)
        values: dict[int, list[Row]] = {}
        for row in mine:
            if row.metric not in _PASSED_OVER and row.values.get("norm") is not None:
                values.setdefault(_column(book, row), []).append(row)
        table = np.full((len(STATISTICS), len(book.targets)), np.nan, dtype=np.float32)
        table[STATISTICS.index("size")] = 0
        for column, found in values.items():
            table[:, column] = _combined(found)
        recorder.take(StepValues(step, Measured(book.new(), table)))
    recorder.close()
    return steps, len(book.targets)


def _column(book: TargetBook, row: Row) -> int:
    prefix = f"{row.vpp_stage}." if row.vpp_stage > 0 else ""
    name = prefix + row.target.removesuffix(".output").removeprefix("module.")
    kind = _KINDS.get(row.metric, row.metric)
    return book.column(kind, name or "model")


def _combined(rows: list[Row]) -> list[float]:
    """The statistics of micro-batches as one: the number of elements is not told, so it is 1."""

    def column(name: str) -> list[float]:
        return [np.nan if (value := row.values.get(name)) is None else value for row in rows]

    found = dict.fromkeys(STATISTICS, np.nan)
    found["norm"] = float(np.sqrt(np.sum(np.square(column("norm")))))
    found["mean"], found["zeros"] = float(np.mean(column("mean"))), float(np.mean(column("zeros")))
    found["min"], found["max"] = float(np.min(column("min"))), float(np.max(column("max")))
    found["nans"] = float(np.sum(column("nans")))
    found["infs"], found["size"] = 0.0, 1.0
    return [found[name] for name in STATISTICS]
