"""Level L2 in GRAPH_MODE: MindSpore dumps kernels by settings of ours, and they are read."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

from tests.mindspore.conftest import Thing

SAMPLE = Path(__file__).resolve().parent.parent / "samples" / "mindspore-2.10"


def run(out: Path, *flags: str) -> str:
    command = [sys.executable, str(SAMPLE / "programs" / "graph_net.py"), str(out), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stderr


def kernels(folder: Path) -> list[str]:
    """The kernels of the first iteration, without what each run has of its own."""
    files = (folder / "rank_0" / "Net" / "0" / "0").iterdir()
    return sorted(file.name.rsplit(".", 8)[0] for file in files)


def test_the_kernels_are_those_of_the_sample(ms: Thing, tmp_path: Path) -> None:
    said = run(tmp_path / "out")
    with tarfile.open(SAMPLE / "graph.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    assert kernels(tmp_path / "out") == kernels(tmp_path / "graph" / "sound")
    iterations = (tmp_path / "out" / "rank_0" / "Net" / "0").iterdir()
    assert [folder.name for folder in iterations] == ["0"]  # step [0] of two
    assert f"into {tmp_path / 'out'}" in said


def test_kernels_can_be_named_by_an_expression(ms: Thing, tmp_path: Path) -> None:
    run(tmp_path, "", "name-regex(Default/.+fc[12]-Dense/.+)")
    found = {name.partition(".")[0] for name in kernels(tmp_path)}
    assert found - {"Parameter"} == {"MatMul", "BiasAdd"}
