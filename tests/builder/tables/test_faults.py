"""Faults of known extent: no row that they touch passes, and what is equal does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from builder.tables.comparing import TableOptions, compare_into_tables
from tests.builder.tables.recorded import FINE, Row, our_table

TOUCHED = 1e-3  # a relative difference that no rounding makes in float32


def _touched_by_statistics(row: Row) -> bool:
    """Whether the norms of a row, or its numbers, differ: the oracle is the file itself."""
    try:
        ours, theirs = float(row["NPU l2norm"]), float(row["Bench l2norm"])
    except ValueError:
        return row["Max diff"] not in ("0", "N/A")
    return abs(ours - theirs) > TOUCHED * abs(theirs)


@pytest.mark.parametrize("fault", ["scale", "scale12"])
def test_no_row_that_a_factor_touches_passes(
    fault: str, compared_dumps: Path, tmp_path: Path
) -> None:
    dumps = compared_dumps / "statistics"
    _, rows = our_table(dumps / fault / "step0", dumps / "none" / "step0", tmp_path)
    touched = [row for row in rows if _touched_by_statistics(row)]
    alone = [row for row in rows if "N/A" in (row["NPU Name"], row["Bench Name"])]
    assert len(touched) > 60
    assert len(alone) == 6  # the inserted call forward and backward
    assert [row["NPU Name"] for row in touched + alone if row["Result"] == FINE] == []


@pytest.mark.parametrize("fault", ["scale", "scale12"])
def test_no_tensor_that_a_factor_touches_passes(
    fault: str, compared_dumps: Path, tmp_path: Path
) -> None:
    sides = [compared_dumps / "tensor" / name / "step0" for name in (fault, "none")]
    _, rows = our_table(*sides, tmp_path)
    folders = [next(side.iterdir()) / "dump_tensor_data" for side in sides]
    passed, touched = [], 0
    for row in rows:
        names = json.loads(row["Data_name"].replace("'", '"'))
        if "N/A" in names or "-1" in names:
            continue
        ours, theirs = (torch.load(f / n).double() for f, n in zip(folders, names, strict=True))
        if float((ours - theirs).norm()) > TOUCHED * float(theirs.norm()):
            touched += 1
            passed += [row["NPU Name"]] if row["Result"] == FINE else []
    assert touched > 60
    assert passed == []


@pytest.mark.parametrize("task", ["statistics", "tensor"])
@pytest.mark.parametrize("fault", ["scale", "scale12"])
def test_first_difference_is_the_inserted_call(
    task: str, fault: str, compared_dumps: Path, tmp_path: Path
) -> None:
    dumps = compared_dumps / task
    options = TableOptions(first_differences=True)
    result = compare_into_tables(
        dumps / fault / "step0", dumps / "none" / "step0", tmp_path, options
    )
    named = json.loads(result.files[-1].read_text())
    assert named["rank_0"][0]["op_name"] == "Tensor.__mul__.0.forward"
    assert result.findings[0].name == "Tensor.__mul__.0.forward"
    assert "x=x*1." in named["rank_0"][0]["stack_info"][0]


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_unused_extra_call_is_no_error(task: str, compared_dumps: Path, tmp_path: Path) -> None:
    dumps = compared_dumps / task
    _, rows = our_table(dumps / "extra" / "step0", dumps / "none" / "step0", tmp_path)
    spoken = {row["NPU Name"]: row["Result"] for row in rows if row["Result"] != FINE}
    assert spoken == {
        "Functional.gelu.1.forward.input.0": "warning",
        "Functional.gelu.1.forward.output.0": "warning",
    }


def test_checksums_that_differ_are_errors_and_no_others(
    compared_dumps: Path, tmp_path: Path
) -> None:
    for mode in ("md5", "xor"):
        dumps = compared_dumps / mode
        _, rows = our_table(dumps / "scale" / "step0", dumps / "none" / "step0", tmp_path / mode)
        paired = [row for row in rows if "N/A" not in (row["NPU Name"], row["Bench Name"])]
        for row in paired:
            assert (row["NPU MD5"] != row["BENCH MD5"]) == (row["Result"] == "error")
        assert np.mean([row["Result"] == "error" for row in paired]) > 0.3


def test_every_message_reaches_the_file(compared_dumps: Path, tmp_path: Path) -> None:
    dumps = compared_dumps / "statistics"
    _, rows = our_table(dumps / "scale" / "step0", dumps / "none" / "step0", tmp_path)
    for row in rows:
        messages = json.loads(row["Err_message"])
        assert bool(messages) == (row["Result"] != FINE)
        assert all(text.startswith(("error: ", "warning: ")) for text in messages)
    named = next(row for row in rows if row["NPU Name"] == "Tensor.__mul__.0.forward.input.0")
    assert "only the problem run calls" in named["Reason"]
