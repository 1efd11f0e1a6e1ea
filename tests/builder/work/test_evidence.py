"""What a pair's evidence says of values of which the two runs recorded unlike numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import builder
from builder.claim import Claim
from evaluation.all_clears.recorded import Kind, recorded_run, write_run
from msprobe.pytorch import PrecisionDebugger

CALL = "Functional.relu.0.forward"


def _claim(folder: Path, kind: Kind, changes: dict[str, Any], call: str = CALL) -> Claim:
    """What is claimed of a run whose call put out a record with some changes; None leaves out."""
    files = recorded_run(kind)
    write_run(files, folder / "benchmark")
    record = files["step0/rank1/dump.json"]["data"][call]["output"][0]
    record.update(changes)
    for key in [key for key, value in changes.items() if value is None and key == "sketch"]:
        del record[key]
    write_run(files, folder / "problem")
    options = builder.BuildOptions(workers=1)
    return builder.build(folder / "problem", folder / "benchmark", folder / "out", options).claim


def _gaps(claim: Claim) -> dict[str, int]:
    return {gap.code: gap.count for gap in claim.evidence.gaps}


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("statistics", {"Norm": None}),
        ("statistics", {"Max": None, "Mean": None}),
        ("sketch", {"Min": None}),
        ("sketch", {"sketch": None}),
    ],
)
def test_a_number_that_one_run_alone_recorded_is_told(
    kind: Kind, changes: dict[str, Any], tmp_path: Path
) -> None:
    claim = _claim(tmp_path, kind, changes)
    assert _gaps(claim) == {"some_statistics": 1}
    assert not claim.is_clear and not claim.incomplete


@pytest.mark.parametrize(
    "changes", [{"Norm": 40.0}, {"Max": 9.0, "Mean": 3.0}, {"Min": "nan"}, {"Mean": -2.0}]
)
@pytest.mark.parametrize("call", [CALL, "Functional.mse_loss.0.forward"])
def test_statistics_that_differ_beside_equal_elements_are_told(
    changes: dict[str, Any], call: str, tmp_path: Path
) -> None:
    claim = _claim(tmp_path, "tensor", changes, call)
    assert not claim.is_clear
    assert claim.code == "differs" or _gaps(claim) == {"contradicted": 1}


@pytest.mark.parametrize("changes", [{"Norm": None}, {"Max": None, "Min": None}])
def test_where_all_elements_were_compared_a_statistic_is_not_missed(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    assert _claim(tmp_path, "tensor", changes).is_clear


def test_rounding_of_statistics_contradicts_no_elements(tmp_path: Path) -> None:
    norm = recorded_run("tensor")["step0/rank1/dump.json"]["data"][CALL]["output"][0]["Norm"]
    assert _claim(tmp_path, "tensor", {"Norm": norm * (1 + float(np.finfo("f4").eps))}).is_clear


def test_runs_without_a_value_in_common_do_not_fail(tmp_path: Path) -> None:
    """Both sketch their tensors, and no call of the one is a call of the other."""
    for run, call in (("problem", torch.exp), ("benchmark", torch.sin)):
        debugger = PrecisionDebugger(level="L1", dump_path=str(tmp_path / run))
        with debugger.recording():
            call(torch.ones(64))
        debugger.close()
    options = builder.BuildOptions(workers=1)
    made = builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "out", options)
    assert "failed" not in _gaps(made.claim)
