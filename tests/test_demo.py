"""The demo: both runs of the example, and a diagnosis that names the seeded layer first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from builder import build, diagnose
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("demo")
    for side, flags in (("benchmark", []), ("problem", ["--fault"])):
        command = [sys.executable, "examples/small_transformer.py", str(folder / side), *flags]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    return {"problem": folder / "problem", "benchmark": folder / "benchmark"}


def test_first_finding_is_the_seeded_layer(dumps: dict[str, Path], tmp_path: Path) -> None:
    first = diagnose(build(dumps["problem"], dumps["benchmark"], tmp_path).path).findings[0]
    assert (first.step, first.direction) == (0, "forward")
    assert first.inside == "Module.layers.2.mlp.MLP.forward.0"
    assert first.stack is not None
    assert "hidden * 1.5" in first.stack.splitlines()[0]


def test_faultless_side_against_itself_has_no_finding(
    dumps: dict[str, Path], tmp_path: Path
) -> None:
    side = dumps["benchmark"]
    assert diagnose(build(side, side, tmp_path).path).findings == []


def test_makefile_runs_the_example_it_is_tested_with() -> None:
    recipe = subprocess.run(
        ["make", "--dry-run", "demo", "SERVE=0"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "examples/small_transformer.py demo_output/problem --fault" in recipe
    assert "http://" not in recipe
    assert "tensorboard" not in recipe.rpartition("msprobe diagnose")[2]
    # The result of the last demo goes with its dumps.
    assert "rm -rf demo_output graph_output/demo" in recipe
