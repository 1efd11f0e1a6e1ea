"""Every pair of samples gives the same rows in one process and as units over an executor."""

from __future__ import annotations

from pathlib import Path

import pytest

import builder
from builder import BuildOptions
from builder.run.build import Request
from builder.run.executor import LocalProcesses
from builder.run.units.running import build_over
from tests.builder.run.units.runs import rows_of
from tests.conftest import ROOT

_SAMPLES = ROOT / "tests" / "samples" / "msprobe-26.2.0"
PAIRS = sorted(
    folder
    for folder in _SAMPLES.iterdir()
    if all((folder / s).is_dir() for s in ("problem", "bench"))
)


def test_there_are_samples_of_all_tasks() -> None:
    assert {"statistics", "tensor", "md5", "ranks"} <= {folder.name for folder in PAIRS}


@pytest.mark.parametrize("sample", PAIRS, ids=lambda folder: folder.name)
def test_units_give_the_rows_of_one_process(sample: Path, tmp_path: Path) -> None:
    sides = sample / "problem", sample / "bench"
    options = BuildOptions(overflow_check=True, workers=1)
    direct = builder.build(*sides, tmp_path / "direct", options)
    request = Request(*map(str, sides), options)
    units = build_over(request, str(tmp_path / "units"), LocalProcesses(1))
    assert rows_of(units.path) == rows_of(direct.path)
    assert units.findings == direct.findings
    assert units.summary == direct.summary
