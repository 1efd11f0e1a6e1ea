"""`msprobe inspect`: what it prints and how it ends."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.builder.series.stores import write_steps
from tests.msprobe.conftest import Run


@pytest.fixture
def tensor_dump(samples: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "dump"
    shutil.copytree(samples / "tensor" / "problem", copy, copy_function=shutil.copyfile)
    for folder in (copy, *copy.rglob("*")):
        folder.chmod(0o755)
    return copy


def test_command_reports_and_fails_for_a_broken_rank(
    run: Run, samples: Path, tensor_dump: Path
) -> None:
    answer = run("inspect", samples / "nan" / "problem")
    assert answer.code == 0
    assert "Torch.log.0.forward.output.0 (step 0, rank 0, Max nan)" in answer.out
    next(tensor_dump.rglob("dump.json")).write_text("{")
    answer = run("inspect", tensor_dump, "--json")
    assert answer.code == 3
    said = json.loads(answer.out)
    assert said["version"] == 1
    assert said["contents"][0]["is_broken"]


def test_no_dump_is_one_line(run: Run, tmp_path: Path) -> None:
    answer = run("inspect", tmp_path)
    assert answer.code == 1
    assert answer.err.count("\n") == 1
    assert str(tmp_path) in answer.err


def test_trends_are_told_too(run: Run, tmp_path: Path) -> None:
    for first in (0, 5):  # the second start goes on at step 5
        write_steps(tmp_path / "run", np.ones((10, 3)), range(first, first + 10))
    answer = run("inspect", tmp_path / "run")
    assert answer.code == 0
    assert "steps: 15, 0 to 14\nranks: 0\nstarts: 2\nseries: 3 (grad 3)\nalerts: 0" in answer.out
    said = json.loads(run("inspect", tmp_path / "run", "--json").out)
    assert (said["version"], said["granularity"], said["series"]) == (1, "trends", {"grad": 3})
    (tmp_path / "run" / "run.json").write_text("{")
    assert run("inspect", tmp_path / "run").code == 1
