"""`msprobe doctor`: what it takes, and how it ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from builder import build
from tests.builder.series.stores import write_steps
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


def test_trends_are_something_to_show(run: Run, tmp_path: Path) -> None:
    write_steps(tmp_path / "logs" / "sound", np.ones((4, 3)), range(4))
    answer = run("doctor", tmp_path / "logs")
    assert answer.code == 0, answer.out
    assert "sound: trends: 4 steps, 1 ranks, 3 series" in answer.out
    write_steps(tmp_path / "logs" / "empty", np.ones((0, 3)), ())
    answer = run("doctor", tmp_path / "logs")
    assert answer.code == 1
    assert "empty: trends without any step" in answer.out
