"""Runs the cases of the suite, each recorded in a process of its own, and judges the diagnosis."""

from __future__ import annotations

import multiprocessing
import multiprocessing.pool
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch._dynamo  # the optimizers import it, which takes seconds in each process

from builder import BuildOptions, build, diagnose
from evaluation.zoo.controls import CONTROLS, Control, Setting
from evaluation.zoo.culprit import Found, right_answers
from evaluation.zoo.fault import Fault
from evaluation.zoo.faults import FAULTS
from evaluation.zoo.record import Task, record

TASKS: tuple[Task, ...] = ("statistics", "tensor")


@dataclass(frozen=True, slots=True)
class Case:
    """One pair of recordings to compare; `fault` is None for a control."""

    name: str
    kind: str
    architecture: str
    task: Task
    problem: Setting
    benchmark: Setting
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the diagnosis said of a case; `place` is that of the first right answer, from 1."""

    case: Case
    findings: tuple[Found, ...]
    reasons: tuple[str, ...]
    right: frozenset[Found]
    error: str | None = None

    @property
    def place(self) -> int | None:
        """Where in the list the culprit stands; None when it is not named."""
        places = (n for n, found in enumerate(self.findings, 1) if found in self.right)
        return next(places, None)


def cases(tasks: Sequence[Task] = TASKS, seed: int = 0) -> list[Case]:
    """Every fault in every dtype it shows in, and every control, for each task.

    The problem side of a fault computes with other kernels, as another device would.
    """
    listed = []
    for task in tasks:
        for architecture, faults in FAULTS.items():
            listed += [case_of(architecture, f, dtype, task) for f in faults for dtype in f.dtypes]
        listed += [control_case(control, task) for control in CONTROLS]
    return [seeded(case, seed) for case in listed]


def judge(
    listed: Sequence[Case], processes: int, recordings: Path | None = None
) -> Iterator[Verdict]:
    """Verdicts in the order of the cases.

    What was recorded below `recordings` is used again and what was not is left there: rules are
    tried out in a fraction of the time.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = recordings or Path(folder)
        benchmarks = {_benchmark(case): case for case in listed}
        with process_pool(processes) as pool:
            # One recording per task: a larger chunk would share a process.
            pool.map(_record_benchmark, [(case, root) for case in benchmarks.values()], chunksize=1)
            yield from pool.imap(_judge, [(case, root) for case in listed])


def process_pool(processes: int) -> multiprocessing.pool.Pool:
    """Processes that say nothing and run one task each."""
    # A process per recording: dumpers patch torch, and settings are global.
    context = multiprocessing.get_context("fork")
    return context.Pool(processes, initializer=_be_quiet, maxtasksperchild=1)


def _be_quiet() -> None:
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    os.dup2(silence, sys.stderr.fileno())


def case_of(architecture: str, fault: Fault, dtype: torch.dtype, task: Task) -> Case:
    """A fault as a case; the problem side computes with other kernels, as another device would."""
    benchmark = Setting(dtype)
    problem = replace(benchmark, onednn=False, change=fault.apply)
    return Case(fault.name, fault.kind, architecture, task, problem, benchmark, fault)


def control_case(control: Control, task: Task) -> Case:
    """A control as a case."""
    sides = control.problem, control.benchmark
    return Case(control.name, "control", control.architecture, task, *sides)


def seeded(case: Case, seed: int) -> Case:
    """The same case with other weights and other data."""
    problem, benchmark = replace(case.problem, seed=seed), replace(case.benchmark, seed=seed)
    return replace(case, problem=problem, benchmark=benchmark)


def _benchmark(case: Case) -> str:
    setting = case.benchmark
    short = str(setting.dtype).removeprefix("torch.")
    return f"{case.architecture}-{short}-{case.task}-{setting.seed}"


def _problem(case: Case) -> str:
    name = "".join(c if c.isalnum() else "_" for c in case.name)
    return f"{_benchmark(case)}-{case.problem.dtype}-{name}"


def _record_benchmark(work: tuple[Case, Path]) -> None:
    case, root = work
    record_once(case.architecture, case.benchmark, case.task, root / _benchmark(case))


def record_once(architecture: str, setting: Setting, task: Task, folder: Path) -> None:
    """Record unless the folder has the recording already."""
    done = folder / "recorded"
    if not done.exists():
        record(architecture, setting, task, folder)
        done.touch()


def recorded(case: Case, root: Path) -> tuple[Path, Path]:
    """The dumps of both sides of a case below a folder, recorded by other processes if need be."""
    with process_pool(1) as pool:
        pool.map(_record_benchmark, [(case, root)], chunksize=1)
        pool.map(_record_problem, [(case, root)], chunksize=1)
    return root / _problem(case) / "dump", root / _benchmark(case) / "dump"


def _record_problem(work: tuple[Case, Path]) -> None:
    case, root = work
    record_once(case.architecture, case.problem, case.task, root / _problem(case))


def _judge(work: tuple[Case, Path]) -> Verdict:
    case, root = work
    problem = root / _problem(case)
    with tempfile.TemporaryDirectory(dir=root) as folder:
        try:
            record_once(case.architecture, case.problem, case.task, problem)
            return _compare(case, Path(folder), problem / "dump", root / _benchmark(case) / "dump")
        except Exception as error:
            # One case that cannot run is a line of the table, not the end of it.
            return Verdict(case, (), (), frozenset(), f"{type(error).__name__}: {error}")


def _compare(case: Case, folder: Path, problem: Path, benchmark: Path) -> Verdict:
    made = build(problem, benchmark, folder / "out", BuildOptions(workers=1))
    diagnosis = diagnose(made.path)
    culprits = case.fault.culprits if case.fault is not None else ()
    return Verdict(
        case,
        tuple((f.step, f.node) for f in diagnosis.findings),
        tuple("; ".join(f.reasons) for f in diagnosis.findings),
        frozenset(right_answers(culprits, problem, benchmark)),
    )
