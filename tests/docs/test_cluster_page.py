"""The files of docs/howto/cluster.md are those of the examples, and the shells really run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.builder.cluster.runs import ranks
from tests.conftest import ROOT
from tests.docs.page import blocks_of

PAGE = ROOT / "docs" / "howto" / "cluster.md"
EXAMPLES = sorted((ROOT / "examples" / "cluster").iterdir())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_page_shows_the_file(example: Path) -> None:
    (shown,) = [block.body for block in blocks_of(PAGE) if block.title == example.name]
    assert shown == example.read_text(encoding="utf-8")


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.suffix != ".yaml"], ids=str)
def test_scripts_are_shell(example: Path) -> None:
    subprocess.run(["bash", "-n", str(example)], check=True, timeout=60)


def test_the_job_runs_as_many_shards_as_it_counts() -> None:
    job = yaml.safe_load((ROOT / "examples" / "cluster" / "indexed-job.yaml").read_text())["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert f"--shard $JOB_COMPLETION_INDEX/{job['completions']} " in container["args"][0]


def test_plain_shells_compare_all_ranks(tmp_path: Path) -> None:
    sides = ranks(tmp_path / "p", fault=True), ranks(tmp_path / "b")
    script = ROOT / "examples" / "cluster" / "shells.sh"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(script), *map(str, sides), str(tmp_path / "out"), "3"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "units: 6 of 6, 6 done before, 0 run, 0 failed" in done.stdout
    assert "begins: Functional.gelu.0.forward (step 0, rank 1)" in done.stdout
    assert len(list((tmp_path / "out").glob("compare_*.vis.db"))) == 1
