"""The files of docs/howto/cluster.md are those of the examples, and the shells really run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.builder.run.units.runs import layout, ranks
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


def test_the_job_is_what_kubernetes_takes() -> None:
    validator = pytest.importorskip("kubernetes_validate")
    job = yaml.safe_load((EXAMPLES[0].parent / "indexed-job.yaml").read_text())
    assert validator.validate(job, "1.30", strict=True) is not None
    job["spec"]["backoffLimitPerIndx"] = 3
    with pytest.raises(validator.ValidationError):
        validator.validate(job, "1.30", strict=True)


def test_the_container_of_the_job_runs_its_shard(tmp_path: Path) -> None:
    _plan(tmp_path, ranks(tmp_path / "p", fault=True), ranks(tmp_path / "b"))
    job = yaml.safe_load((EXAMPLES[0].parent / "indexed-job.yaml").read_text())["spec"]
    (container,) = job["template"]["spec"]["containers"]
    for index in range(job["completions"]):
        words = [arg.replace("/data/out", str(tmp_path / "out")) for arg in container["args"]]
        if index in (0, 5, 31):
            done = _run([*container["command"], *words], JOB_COMPLETION_INDEX=str(index))
            assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "parts").is_dir()


def test_the_array_and_the_join_run_as_slurm_would_run_them(tmp_path: Path) -> None:
    _plan(tmp_path, layout(tmp_path / "p", 2, fault=True), layout(tmp_path / "b", 1))
    out = {"OUTPUT": str(tmp_path / "out")}
    for kind in ("map", "reduce"):
        for task in range(2):
            facts = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": "2"}
            script = str(EXAMPLES[0].parent / "array.sbatch")
            done = _run(["bash", script], KIND=kind, SLURM_CPUS_PER_TASK="1", **facts, **out)
            assert done.returncode == 0, done.stderr
            assert "0 failed" in done.stdout
    joined = _run(["bash", str(EXAMPLES[0].parent / "join.sbatch")], **out)
    assert joined.returncode == 0, joined.stderr
    assert "begins: Module.a.Linear.forward.0" in joined.stdout


def test_plain_shells_compare_all_ranks(tmp_path: Path) -> None:
    sides = ranks(tmp_path / "p", fault=True), ranks(tmp_path / "b")
    script = ROOT / "examples" / "cluster" / "shells.sh"
    done = _run(["bash", str(script), *map(str, sides), str(tmp_path / "out"), "3"])
    assert done.returncode == 0, done.stderr
    assert "units: 6 of 6, 6 done before, 0 run, 0 failed" in done.stdout
    assert "begins: Functional.gelu.0.forward (step 0, rank 1)" in done.stdout
    assert len(list((tmp_path / "out").glob("compare_*.vis.db"))) == 1


def _plan(root: Path, problem: Path, benchmark: Path) -> None:
    sides = ["-tp", str(problem), "-gp", str(benchmark), "-o", str(root / "out")]
    done = _run(["msprobe", "graph_visualize", *sides, "--plan"])
    assert done.returncode == 0, done.stderr


def _run(words: list[str], **facts: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        words,
        env={**os.environ, "PATH": path, **facts},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
