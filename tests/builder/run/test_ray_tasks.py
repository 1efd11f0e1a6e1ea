"""Units as tasks of Ray: a worker that is killed costs its retry, never the result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import builder
from builder import BuildOptions, InputError
from builder.run.executors import executor_named
from builder.run.ray_tasks import _collect
from builder.run.units.running import join_build, plan_build, run_units
from builder.run.units.unit_work import StoredParts
from builder.work.outcome import PairOutcome
from builder.work.plan import PairPlan
from tests.builder.run.units.runs import ranks, rows_of
from tests.conftest import ROOT

PROGRAM = """
import sys
from tests.builder.run.test_ray_tasks import killed_in_the_middle
killed_in_the_middle(*sys.argv[1:])
"""


@dataclass(frozen=True)
class KilledOnce:
    """Work whose first worker dies after half of the pairs are done; later ones do not."""

    work: StoredParts
    mark: str

    def attempt(self, plan: PairPlan, cores: int) -> PairOutcome:
        if plan.rank == 1 and not Path(self.mark).exists():
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.work.attempt(plan, cores)

    def lost(self, plan: PairPlan, cause: str) -> PairOutcome:
        return self.work.lost(plan, cause)


@dataclass(frozen=True)
class AlwaysKilled(KilledOnce):
    """Work that kills every worker that gets rank 0."""

    def attempt(self, plan: PairPlan, cores: int) -> PairOutcome:
        if plan.rank == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.work.attempt(plan, cores)


def killed_in_the_middle(problem: str, benchmark: str, out: str, mark: str) -> None:
    """What the process of the test does: Ray warns and starts threads that are none of pytest's."""
    plan = plan_build(problem, benchmark, out, BuildOptions())
    ray = executor_named("ray", 2)
    work = StoredParts(plan.id, f"{out}/parts", plan.request.instructions())
    pairs = [unit.pair for unit in plan.units]
    outcomes = ray.run(pairs, KilledOnce(work, mark), lambda _: None)
    print("failed", [outcome.rank for outcome in outcomes if outcome.error])
    join_build(out)
    other = plan_build(problem, benchmark, f"{out}/other", BuildOptions(threshold=0.3))
    work = StoredParts(other.id, f"{out}/other/parts", other.request.instructions())
    lost = ray.run([unit.pair for unit in other.units], AlwaysKilled(work, mark), lambda _: None)
    print("lost", [(outcome.rank, outcome.error) for outcome in lost if outcome.error])


@pytest.fixture
def dumps(tmp_path: Path) -> tuple[Path, Path]:
    return ranks(tmp_path / "p", steps=1, fault=True), ranks(tmp_path / "b", steps=1)


def test_a_worker_killed_in_the_middle_costs_its_retry(
    dumps: tuple[Path, Path], tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    direct = builder.build(*dumps, tmp_path / "direct", BuildOptions(workers=1))
    out, mark = tmp_path / "out", tmp_path / "mark"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, (*dumps, out, mark))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert mark.exists(), "nobody was killed"
    assert "failed []" in done.stdout
    (made,) = out.glob("*.vis.db")
    assert rows_of(made) == rows_of(direct.path)
    assert "lost [(0, " in done.stdout
    assert "worker of Ray was lost" in done.stdout


def test_without_ray_the_extra_is_named(
    dumps: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    plan = plan_build(*map(str, dumps), str(tmp_path / "out"), BuildOptions())
    with pytest.raises(InputError, match=r"pip install '\.\[ray\]'"):
        run_units(str(tmp_path / "out"), plan.units, executor_named("ray", 2))


def test_an_executor_that_nobody_has_is_named() -> None:
    with pytest.raises(InputError, match="slurm: no such executor; choose one of local, ray"):
        executor_named("slurm", None)


class RayOfOneProcess:
    """What is asked of Ray, where tasks raise as they do there."""

    class exceptions:  # noqa: N801 - as Ray calls it
        class RayError(Exception):
            """Any."""

        class RayTaskError(RayError):
            """The task raised `cause`."""

            cause = ValueError("no such column")

        class WorkerCrashedError(RayError):
            """The worker died."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def get(self, task: object) -> None:
        raise getattr(self.exceptions, self.kind)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("RayTaskError", "raised ValueError: no such column"),
        ("WorkerCrashedError", "of Ray was lost 4 times"),
    ],
)
def test_a_task_that_raises_is_told_apart_from_one_that_is_lost(kind: str, told: str) -> None:
    class Work:
        def attempt(self, plan: PairPlan, cores: int) -> PairOutcome:
            raise AssertionError

        def lost(self, plan: PairPlan, cause: str) -> PairOutcome:
            return PairOutcome(plan.step, plan.rank, error=cause)

    plan = PairPlan(0, 0, Path("p"), Path("b"))
    outcome = _collect(RayOfOneProcess(kind), object(), plan, Work())  # type: ignore[arg-type]
    assert str(outcome.error).startswith(told)
