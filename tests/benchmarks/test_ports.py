"""The benchmark of ports prints a row for each pair, and what it calls a port is told as one."""

from __future__ import annotations

from pathlib import Path

import pytest

import builder
from benchmarks.ports import main, record_apart, rename_modules
from builder.reasons import OneProgram, TwoPrograms


def test_prints_a_row_sound_and_with_the_fault(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--layers", "1", "--repeats", "1"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| 1, ")]
    assert [row.split(" | ")[1] for row in rows] == ["sound", "fault"]


def test_modules_under_other_names_are_another_program(tmp_path: Path) -> None:
    record_apart(2, tmp_path / "one", 1.0)
    rename_modules(tmp_path / "one", tmp_path / "port")
    kinds = [
        type(builder.build(tmp_path / side, tmp_path / "one", tmp_path / "o").outcomes[0].kind)
        for side in ("one", "port")
    ]
    assert kinds == [OneProgram, TwoPrograms]
