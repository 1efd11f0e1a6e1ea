"""The benchmark of tables runs on a small pair of dumps and prints a row for each form."""

from __future__ import annotations

import pytest

from benchmarks.compare import main


def test_prints_a_row_for_each_form(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--entries", "60", "--rounds", "1"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [row.split()[1] for row in rows] == ["table", "csv", "xlsx"]
    assert all(" s | " in row for row in rows[1:])
