"""Stores of trends that tests write: tables of made-up values under a writer of their own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from msprobe_core.format.series import STATISTICS, TrendTarget
from msprobe_core.monitor.store import SeriesWriter, write_run

Table = NDArray[np.float32]


def targets(count: int, kind: str = "grad") -> list[TrendTarget]:
    return [TrendTarget(kind, f"layers.{i}.weight", (2, 3), "float32", i) for i in range(count)]


def table(values: Iterable[float]) -> Table:
    """A table in which every statistic of a target is its value, and its size 1."""
    row = np.asarray(list(values), dtype=np.float32)
    filled = np.tile(row, (len(STATISTICS), 1))
    filled[STATISTICS.index("size")] = 1
    return filled


def without(made: Table, *columns: int) -> Table:
    """The same table with some targets not measured."""
    made = made.copy()
    made[:, list(columns)] = np.nan
    made[STATISTICS.index("size"), list(columns)] = 0
    return made


def write_steps(
    run: Path,
    values: NDArray[np.float64],
    steps: Iterable[int],
    *,
    rank: int = 0,
    kind: str = "grad",
) -> None:
    """Write [step][target] as one attempt."""
    write_run(run, {"modules": []})
    writer = SeriesWriter(run, rank)
    writer.add_targets(targets(values.shape[1], kind))
    for step, row in zip(steps, values, strict=True):
        writer.write(step, table(row))
    writer.close()
