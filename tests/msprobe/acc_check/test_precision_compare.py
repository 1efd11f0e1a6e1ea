"""Two details tables rated against each other, beside what mindstudio-probe wrote for the same."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from builder.errors import InputError
from msprobe.acc_check.precision_compare import (
    COMPARE_HEADER,
    RESULT_HEADER,
    Comparison,
    compare_tables,
)
from msprobe.acc_check.rows import DETAILS_HEADER
from msprobe.acc_check.rows import RESULT_HEADER as CHECK_HEADER
from tests.msprobe.acc_check.calls import SAMPLE

FOLDER = SAMPLE.parents[1]
OK, FAULTY, THEIRS = (FOLDER / n for n in ("cpu_ok", "cpu_faulty", "api_precision_compare"))


def one(folder: Path, part: str) -> Path:
    (found,) = folder.glob(f"*_{part}_*.csv")
    return found


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("compared")
    return compare_tables(one(FAULTY, "details"), one(OK, "details"), folder, "20260101000000")


@pytest.mark.parametrize(
    ("header", "recorded"),
    [
        (COMPARE_HEADER, one(THEIRS, "details")),
        (RESULT_HEADER, one(THEIRS, "result")),
        (DETAILS_HEADER, one(OK, "details")),
        (CHECK_HEADER, one(OK, "result")),
    ],
)
def test_headers_are_those_that_users_have(header: tuple[str, ...], recorded: Path) -> None:
    assert list(header) == list(rows(recorded)[0])


def test_verdicts_agree_where_the_former_ones_were_right(compared: Comparison) -> None:
    ours = {r["API Name"]: r for r in rows(compared.result)}
    for theirs in rows(one(THEIRS, "result")):
        row = ours.pop(theirs["API Name"])
        if "softmax" in row["API Name"]:
            continue
        column = "Forward Test Success"
        assert row[column] == theirs[column], row
        if theirs["Backward Test Success"] != "SKIP":
            assert row["Backward Test Success"] == theirs["Backward Test Success"]
    assert ours == {}


def test_result_that_is_all_nan_is_an_error(compared: Comparison) -> None:
    (row,) = (r for r in rows(compared.result) if r["API Name"] == "Functional.softmax.0")
    assert (row["Forward Test Success"], row["Backward Test Success"]) == ("error", "error")
    assert one(THEIRS, "result").read_text("utf-8").count("Functional.softmax.0,pass,pass") == 1


def test_ratios_are_the_recorded_ones(compared: Comparison) -> None:
    # The recorded comparison was made against another run of the second device: what lies above
    # the floor there (the balance) differs, nothing else does.
    same = [
        c for c in COMPARE_HEADER if "均衡性" not in c and "inf/nan" not in c and c != "Message"
    ]
    recorded = {r["API Name"]: r for r in rows(one(THEIRS, "details"))}
    for row in rows(compared.details):
        if "softmax" not in row["API Name"]:
            theirs = recorded[row["API Name"]]
            assert [row[c] for c in same] == [theirs[c] for c in same]


def test_table_beside_itself_has_no_error_but_unequal_integers(tmp_path: Path) -> None:
    table = one(OK, "details")
    found = compare_tables(table, table, tmp_path, "20260101000000")
    assert (found.counts["error"], found.alone, found.repeated) == (0, (), ())


def test_values_of_one_table_only_and_repeated_ones_are_said(tmp_path: Path) -> None:
    lines = one(OK, "details").read_text("utf-8").splitlines(keepends=True)
    single = [
        line for line in lines[1:] if line.startswith("Functional.linear.0.backward.output.0")
    ]
    short = tmp_path / "short.csv"
    short.write_text(lines[0] + single[0] + single[0], "utf-8")
    found = compare_tables(short, one(OK, "details"), tmp_path, "20260101000000")
    assert "Functional.linear.0.forward.output.0" in found.alone
    assert found.repeated == ("Functional.linear.0.backward.output.0",)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing"):
        compare_tables(tmp_path / "a.csv", one(OK, "details"), tmp_path, "20260101000000")
    with pytest.raises(InputError, match="has no column"):
        compare_tables(one(OK, "result"), one(OK, "details"), tmp_path, "20260101000000")
