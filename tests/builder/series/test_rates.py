"""A learning rate that is another one is said with the step in which it first is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builder.series.parting import compare_runs
from builder.series.rates import Rates
from builder.series.run import TrendRun
from msprobe_core.format.series import TrendTarget
from msprobe_core.monitor.store import SeriesWriter, write_run
from tests.builder.series.stores import table

STEPS = 12


def trained(path: Path, rates: np.ndarray, grown: int | None = None) -> TrendRun:
    """A run of one weight, twice as large as it was from a step on, under learning rates."""
    write_run(path, {"modules": []})
    writer = SeriesWriter(path, 0)
    kinds = [("param", "layer.weight"), ("lr", "lr")]
    writer.add_targets([TrendTarget(*kind, (2, 3), "float32", i) for i, kind in enumerate(kinds)])
    for step, rate in enumerate(rates):
        writer.write(step, table([2.0 if grown is not None and step >= grown else 1.0, rate]))
    writer.close()
    return TrendRun(path)


@pytest.mark.parametrize(("changed", "grown", "step"), [(4, 4, 4), (3, 5, 3), (8, 5, None)])
def test_the_rate_of_a_step_that_is_not_behind_the_parting_is_said(
    tmp_path: Path, changed: int, grown: int, step: int | None
) -> None:
    rates = np.full(STEPS, 0.5)
    other = np.where(np.arange(STEPS) >= changed, 0.25, rates)
    found = compare_runs(trained(tmp_path / "a", rates), trained(tmp_path / "b", other, grown))
    assert (found.verdict, found.step) == ("parts", grown)
    assert found.rates == (None if step is None else Rates(step, 0.5, 0.25))


def test_rates_that_are_the_same_to_rounding_are_not_said(tmp_path: Path) -> None:
    rates = np.full(STEPS, 0.1)
    other = np.nextafter(rates.astype(np.float32), np.float32(1))
    found = compare_runs(trained(tmp_path / "a", rates), trained(tmp_path / "b", other, 5))
    assert (found.step, found.rates) == (5, None)


def test_runs_that_do_not_part_have_none(tmp_path: Path) -> None:
    rates = np.linspace(0.1, 0.2, STEPS)
    found = compare_runs(trained(tmp_path / "a", rates), trained(tmp_path / "b", rates * 2))
    assert (found.verdict, found.rates) == ("equal", None)
