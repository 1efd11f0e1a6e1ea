"""Trends as a Parquet file, read by pyarrow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builder.series.run import TrendRun
from msprobe.trends import exporting
from tests.builder.series.stores import write_steps

parquet = pytest.importorskip("pyarrow.parquet", reason="`make contract` installs pyarrow")


def test_a_parquet_file_holds_the_very_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "_BATCH", 10)  # several row groups
    values = np.random.default_rng(0).lognormal(0, 3, (12, 3))
    values[4, 1], values[5, 1] = np.nan, np.inf
    write_steps(tmp_path / "run", values, range(12))
    run = TrendRun(tmp_path / "run")
    path = exporting.export(run, "parquet", tmp_path / "out")
    table = parquet.read_table(path)
    assert table.column_names == list(exporting.COLUMNS)
    names = np.asarray(table["name"].to_pylist())
    for target in run.targets:
        found = table["norm"].to_numpy()[names == target.name]
        assert np.array_equal(found, run.line(target.key)[1], equal_nan=True)
    assert table["step"].to_pylist() == list(range(12)) * 3
