"""`msprobe doctor`: what it takes, and how it ends."""

from __future__ import annotations

from pathlib import Path

from builder import build
from tests.msprobe.conftest import Run


def test_command_takes_the_file_itself_and_a_missing_path(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    file = build(samples / "structure" / "bench", None, tmp_path / "out").path
    answer = run("doctor", file)
    assert answer.code == 0
    assert f"--logdir {file.parent}" in answer.out
    answer = run("doctor", tmp_path / "none")
    assert answer.code == 1
    assert "does not exist" in answer.out
