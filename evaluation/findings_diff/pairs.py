"""The recorded pairs of every suite, each with what its oracle accepts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.parallel import suite as parallel
from evaluation.parallel.strip import strip
from evaluation.upstream.cases import BUGS, SOUND
from evaluation.upstream.releases import RecordingError, folders_of
from evaluation.upstream.releases import recorded as recorded_releases
from evaluation.zoo import suite as zoo
from evaluation.zoo.culprit import right_answers
from evaluation.zoo.kernels import suite as kernels
from evaluation.zoo.record import Task
from tests.right_answers import Right, among, fits, of_release


@dataclass(frozen=True, slots=True)
class RecordedPair:
    """Two dumps on disk; without `faults` they are sound and nothing may be named."""

    title: str
    problem: Path
    benchmark: Path
    faults: tuple[Right, ...]


def seeded_bugs(kept: Path, task: Task, seed: int) -> Iterator[RecordedPair]:
    """The suite of seeded bugs and its controls."""
    kept.mkdir(parents=True, exist_ok=True)
    for case in zoo.cases([task], seed):
        problem, benchmark = zoo.recorded(case, kept)
        dtype = str(case.problem.dtype).removeprefix("torch.")
        title = f"zoo {seed} {task} {case.architecture} {dtype} {case.kind} {case.name}"
        culprits = case.fault.culprits if case.fault is not None else None
        found = () if culprits is None else (among(right_answers(culprits, problem, benchmark)),)
        yield RecordedPair(title, problem, benchmark, found)


def of_msprobe(kept: Path, seed: int) -> Iterator[RecordedPair]:
    """The suite of seeded bugs with what msprobe's own dumper would have written of them."""
    for pair in seeded_bugs(kept, "statistics", seed):
        yield RecordedPair(
            f"msprobe's {pair.title}",
            _stripped(pair.problem),
            _stripped(pair.benchmark),
            pair.faults,
        )


def wrong_kernels(kept: Path, seed: int) -> Iterator[RecordedPair]:
    """Wrong kernels, one and two at once, and kernels that only round otherwise."""
    kept.mkdir(parents=True, exist_ok=True)
    for case in kernels.cases(["statistics"], seed):
        problem, benchmark, places = kernels.recorded(case, kept)
        if all(places) and len(set(places)) == len(places):
            title = f"kernels {seed} {case.title}"
            yield RecordedPair(title, problem, benchmark, tuple(map(among, places)))


def releases(kept: Path, root: Path) -> Iterator[RecordedPair]:
    """Real bugs of released packages, which lie installed below `root`, and sound releases."""
    for case in (*BUGS, *SOUND):
        try:
            problem, benchmark = recorded_releases(case, root.resolve(), kept)
        except RecordingError:
            continue  # `make upstream` lists those that do not run
        folders = folders_of(case, root.resolve())
        faults = (of_release(case, folders),) if case.mended else ()
        yield RecordedPair(f"releases {case.title}", problem, benchmark, faults)


def parallel_layouts(kept: Path, seed: int, precision: Any) -> Iterator[RecordedPair]:
    """Sound parallel layouts and seeded bugs in them, beside one process or another layout."""
    kept.mkdir(parents=True, exist_ok=True)
    for case in parallel.cases(["statistics"], seed, precision=precision):
        benchmark = parallel.record_benchmark(case, kept)
        problem = parallel.record_problem(case, kept)
        faults = () if case.fault is None else (fits(case.fault.culprits),)
        yield RecordedPair(f"parallel {seed} {precision} {case.name}", problem, benchmark, faults)


def _stripped(dump: Path) -> Path:
    copy = dump.with_name(f"{dump.name}-of-msprobe")
    if not copy.exists():
        partial = dump.with_name(f"{dump.name}-partial")
        shutil.rmtree(partial, ignore_errors=True)
        strip(shutil.copytree(dump, partial), "peer")
        partial.rename(copy)
    return copy
