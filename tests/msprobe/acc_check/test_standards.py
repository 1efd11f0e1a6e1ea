"""The details table holds the cells that mindstudio-probe fills, and no others."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch

from builder.errors import InputError
from msprobe.acc_check.columns import MEASURE_COLUMNS
from msprobe.acc_check.measures import measure
from msprobe.acc_check.precision_compare import compare_tables
from msprobe.acc_check.rows import CallRow, Tables, ValueRow
from msprobe.acc_check.standards import Standard, by_standard
from tests.msprobe.acc_check.calls import SAMPLE

FORMATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool)


def filled(row: dict[str, str]) -> frozenset[str]:
    return frozenset(column for column in MEASURE_COLUMNS if row[column].strip())


def recorded() -> dict[tuple[str, bool], set[frozenset[str]]]:
    """By format, and whether the largest error is below 0.001: the cells that it fills."""
    found: dict[tuple[str, bool], set[frozenset[str]]] = {}
    for folder in ("cpu_ok", "cpu_faulty"):
        (path,) = (SAMPLE.parents[1] / folder).glob("*_details_*.csv")
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                error = row["最大绝对误差"].strip()
                # Rows that the cosine decided are blank from there on; ours keep the error.
                if row["Status"] != "SKIP" and (error or row["二进制一致错误率"].strip()):
                    form = row["DEVICE Dtype"], not error or float(error) < 0.001
                    found.setdefault(form, set()).add(filled(row))
    return found


def table_of(folder: Path, values: list[ValueRow]) -> Path:
    folder.mkdir()
    tables = Tables.create(folder, "20260101000000", 14)
    tables.append(CallRow("Torch.x.0", "pass", " ", "", values))
    return tables.details


def checked(dtype: torch.dtype, off: float, standard: Standard, name: str = "0") -> ValueRow:
    exact = torch.linspace(1, 3, 40, dtype=torch.float64)
    value = (exact * (1 + off)).to(dtype)
    name = f"Torch.x.0.forward.output.{name}"
    measures = measure(value, exact.to(dtype) if not dtype.is_floating_point else exact)
    row = ValueRow(name, "pass", "", "torch.float64", str(dtype), "(40,)", measures)
    return by_standard(row, standard)


@pytest.mark.parametrize("off", [0.0, 0.01])
def test_cells_are_those_of_the_peer(tmp_path: Path, off: float) -> None:
    values = [checked(dtype, off, "rounding", str(n)) for n, dtype in enumerate(FORMATS)]
    with table_of(tmp_path / "t", values).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    known = recorded()
    for row in rows:
        error = row["最大绝对误差"].strip()
        form = row["DEVICE Dtype"], not error or float(error) < 0.001
        if form in known:
            assert filled(row) in known[form], form
    assert len({row["DEVICE Dtype"] for row in rows} & {dtype for dtype, _ in known}) > 3


def test_what_is_not_finite_is_told() -> None:
    row = by_standard(
        ValueRow("a", "error", measures={"inf/nan错误率": 0.5}, device_dtype="torch.float32"),
        "rounding",
    )
    assert row.measures == {"inf/nan错误率": 0.5}


@pytest.mark.parametrize(
    ("standard", "column"), [("absolute", "相对误差错误率"), ("ulp", "ULP误差平均值")]
)
def test_other_standards_fill_their_own_columns(
    tmp_path: Path, standard: Standard, column: str
) -> None:
    own = table_of(tmp_path / "own", [checked(torch.float32, 1e-7, standard)])
    usual = table_of(tmp_path / "usual", [checked(torch.float32, 1e-7, "rounding")])
    assert column in checked(torch.float32, 1e-7, standard).measures
    assert compare_tables(own, own, tmp_path, "20260101000000", standard).counts["pass"] == 1
    with pytest.raises(InputError, match=f"acc_check --standard {standard}|{standard} standard"):
        compare_tables(usual, own, tmp_path, "20260101000000", standard)
