"""The peer's own workbooks against ours, cell by cell.

Rows that the peer gets wrong are listed here with the reason; all others are equal.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from msprobe.config_check.comparison import compare_packs
from msprobe.config_check.pack import STATIC, static_members
from tests.msprobe.config_check.tables import SAMPLES, Table, pack, sheets, zipped

# `lr` of the script and `train.lr` of the YAML file are two settings; the peer makes one of them
# and misses the other where it is.
WRONG_STATIC = [
    ("hyperparameters_static.json", "Only in comparison", "lr", None, "1e-4", None, "warning")
]
# Relative to a negative number the peer's differences are negative; they are magnitudes.
MAGNITUDES = {"dataset": range(4, 8), "weights": range(4, 8)}


def test_static_comparison(tmp_path: Path) -> None:
    sides = []
    for side, environment in (("a", {"CUDA_LAUNCH_BLOCKING": "1"}), ("b", {})):
        files = [SAMPLES / f"{side}.sh", SAMPLES / f"{side}.yaml"]
        members = static_members(files, {"HOME": "/root", **environment})
        sides.append(pack(tmp_path / f"{side}.zip", **members))
    compare_packs(sides[0], sides[1], tmp_path / "out")
    ours = sheets(tmp_path / "out" / "result.xlsx")
    theirs = sheets(SAMPLES / "config_check_static_result.xlsx")
    assert list(ours) == list(theirs)
    for name, rows in theirs.items():
        assert ours[name] == [row for row in rows if row not in WRONG_STATIC], name
    assert all(row in theirs["hyperparameters"] for row in WRONG_STATIC)


def test_static_hyper_parameters_are_those_of_the_sample() -> None:
    members = static_members([SAMPLES / "a.sh", SAMPLES / "a.yaml"], {})
    assert json.loads(members[STATIC]) == json.loads(
        (SAMPLES / "hyperparameters_static.json").read_text()
    )


def test_dynamic_comparison(tmp_path: Path) -> None:
    bench = zipped(SAMPLES / "dynamic_bench", tmp_path / "a.zip")
    other = zipped(SAMPLES / "dynamic_cmp", tmp_path / "b.zip")
    compare_packs(bench, other, tmp_path / "out")
    ours = sheets(tmp_path / "out" / "result.xlsx")
    theirs = sheets(SAMPLES / "config_check_dynamic_result.xlsx")
    assert list(ours) == list(theirs)
    for name, rows in theirs.items():
        assert ours[name] == with_magnitudes(name, rows), name


def with_magnitudes(name: str, rows: Table) -> Table:
    columns = MAGNITUDES.get(name, range(0))
    return [
        tuple(
            abs(cell) if index in columns and isinstance(cell, float) else cell
            for index, cell in enumerate(row)
        )
        for row in rows
    ]


@pytest.mark.parametrize("name", ["config_check_static_result", "config_check_dynamic_result"])
def test_equal_packs_have_no_row_that_differs(name: str, tmp_path: Path) -> None:
    side = "dynamic_bench" if "dynamic" in name else "dynamic_cmp"
    packed = zipped(SAMPLES / side, tmp_path / "a.zip")
    compare_packs(packed, packed, tmp_path / "out")
    found = sheets(tmp_path / "out" / "result.xlsx")
    assert all(level == "pass" for _, level in found["summary"][1:])
    for item in ("env", "pip", "hyperparameters"):
        assert len(found[item]) == 1, item
    assert all(row[3] is True for item in ("dataset", "weights") for row in found[item][1:])
    assert all(row[6] is True for row in found["random"][1:])
