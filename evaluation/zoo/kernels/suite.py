"""Records wrong kernels and kernels that only round otherwise, and judges what is said of them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import torch

from builder import BuildOptions, build, diagnose
from builder.results.report import Suspect
from evaluation.parallel.strip import Dumps, strip
from evaluation.zoo.controls import Setting
from evaluation.zoo.culprit import Found
from evaluation.zoo.experiment import Experiment
from evaluation.zoo.kernels.draw import SHOWS, Drawn, WrongKernels, draw
from evaluation.zoo.kernels.rounding import ROUNDINGS, OtherRounding, Rounding
from evaluation.zoo.kernels.truth import first_places, shown
from evaluation.zoo.kernels.wrong import Wrong
from evaluation.zoo.models import ARCHITECTURES
from evaluation.zoo.record import Task
from evaluation.zoo.suite import process_pool, record_once

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
Place = frozenset[Found]


@dataclass(frozen=True, slots=True)
class PutIn:
    """Puts wrong kernels into an experiment for the rest of the process."""

    faults: tuple[Wrong, ...]

    def __call__(self, experiment: Experiment) -> None:
        """Enter the mode and never leave it: the process records and ends."""
        WrongKernels(experiment, self.faults).__enter__()


@dataclass(frozen=True, slots=True)
class RoundOtherwise:
    """Lets every kernel of an experiment round otherwise for the rest of the process."""

    rounding: Rounding
    seed: int

    def __call__(self, experiment: Experiment) -> None:
        """Enter the mode and never leave it: the process records and ends."""
        OtherRounding(experiment, self.rounding, self.seed).__enter__()


@dataclass(frozen=True, slots=True)
class KernelCase:
    """One run against its benchmark; without faults it is a control.

    `alone` are the recordings in which one of its faults is alone, where the truth is read.
    """

    name: str
    architecture: str
    task: Task
    problem: Setting
    benchmark: Setting
    faults: tuple[Wrong, ...] = ()

    @property
    def title(self) -> str:
        """A line of the list of verdicts."""
        dtype = _short(self.benchmark.dtype)
        many = ("control", "single", "two")[len(self.faults)]
        return f"{self.task:10} {self.architecture:11} {dtype:8} {many:7} {self.name}"


@dataclass(frozen=True, slots=True)
class KernelVerdict:
    """What was said of a case; `places` holds the right answers of each fault.

    `elsewhere` are where findings say that the same cause showed again: calls of one line of
    source are one finding.
    """

    case: KernelCase
    findings: tuple[Found, ...] = ()
    elsewhere: tuple[Found, ...] = ()
    reasons: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    error: str | None = None

    @property
    def judged(self) -> bool:
        """Whether each fault shows in a place of its own among the recorded calls."""
        return self.error is None and all(self.places) and len(set(self.places)) == len(self.places)

    @property
    def first(self) -> bool:
        """Whether the first finding is a fault."""
        return bool(self.findings) and any(self.findings[0] in place for place in self.places)

    @property
    def all_named(self) -> bool:
        """Whether every fault is among the findings, or where one of them showed again."""
        named = {*self.findings, *self.elsewhere}
        return all(place & named for place in self.places)

    @property
    def nothing_else(self) -> bool:
        """Whether each finding is a fault, and none is said twice."""
        right = [found for found in self.findings if any(found in p for p in self.places)]
        return len(self.findings) == len(right) <= len(self.places)


def cases(
    tasks: Sequence[Task],
    seed: int,
    architectures: Sequence[str] = tuple(ARCHITECTURES),
    dtypes: Sequence[torch.dtype] = DTYPES,
    singles: int = 4,
    pairs: int = 2,
) -> list[KernelCase]:
    """Faults drawn by the seed, alone and in pairs, and controls, for each model and format."""
    made = list(product(architectures, dtypes))
    with process_pool(2) as pool:
        drawn = pool.starmap(draw, [(*each, seed, singles, pairs) for each in made], chunksize=1)
    return [
        case
        for task in tasks
        for (architecture, dtype), faults in zip(made, drawn, strict=True)
        for case in _cases_of(architecture, dtype, task, seed, faults)
    ]


def _cases_of(
    architecture: str, dtype: torch.dtype, task: Task, seed: int, drawn: Drawn
) -> Iterator[KernelCase]:
    benchmark = Setting(dtype, seed=seed)
    other = replace(benchmark, onednn=False)
    for faults in (*((single,) for single in drawn.singles), *drawn.pairs):
        name = " + ".join(fault.name for fault in faults)
        problem = replace(other, change=PutIn(faults))
        yield KernelCase(name, architecture, task, problem, benchmark, faults)
    for rounding in ROUNDINGS:
        problem = replace(other, change=RoundOtherwise(rounding, seed))
        yield KernelCase(f"rounded: {rounding}", architecture, task, problem, benchmark)


def judge(
    listed: Sequence[KernelCase], processes: int, root: Path, dumps: Dumps = "ours"
) -> Iterator[KernelVerdict]:
    """Verdicts in the order of the cases; what is recorded below `root` is used again."""
    with process_pool(processes) as pool:
        wanted = {folder: work for case in listed for folder, *work in _recordings(case, root)}
        work = [(folder, *each) for folder, each in wanted.items()]
        pool.starmap(_record, work, chunksize=1)
        yield from pool.imap(_judge, [(case, root, dumps) for case in listed])


def recorded(case: KernelCase, root: Path) -> tuple[Path, Path, tuple[Place, ...]]:
    """The dumps of both sides below a folder, recorded if need be, and the place of each fault."""
    with process_pool(1) as pool:
        wanted = list(_recordings(case, root))
        pool.starmap(_record, wanted, chunksize=1)
    problem = _folder(case, root, case.problem, case.name) / "dump"
    benchmark = _folder(case, root, case.benchmark, "benchmark") / "dump"
    return problem, benchmark, tuple(_places(case, root))


def _recordings(case: KernelCase, root: Path) -> Iterator[tuple[Path, str, Setting, Task]]:
    """All that a case needs: both sides, and for the truth each fault alone and none at all."""
    model, task = case.architecture, case.task
    yield _folder(case, root, case.benchmark, "benchmark"), model, case.benchmark, task
    yield _folder(case, root, case.problem, case.name), model, case.problem, task
    truth = replace(case, task="statistics")
    for faults in ((), *((fault,) for fault in case.faults)) if case.faults else ():
        setting = replace(case.problem, change=PutIn(faults))
        yield _folder(truth, root, setting, _name(faults)), model, setting, truth.task


def _name(faults: tuple[Wrong, ...]) -> str:
    return " + ".join(fault.name for fault in faults) or "sound"


def _folder(case: KernelCase, root: Path, setting: Setting, name: str) -> Path:
    plain = "".join(c if c.isalnum() else "_" for c in name)
    return root / f"{case.architecture}-{_short(setting.dtype)}-{case.task}-{setting.seed}-{plain}"


def _record(folder: Path, architecture: str, setting: Setting, task: Task) -> None:
    try:
        record_once(architecture, setting, task, folder)
    except Exception as error:  # the cases that need it say so
        (folder / "error").write_text(f"{type(error).__name__}: {error}")


def _judge(work: tuple[KernelCase, Path, Dumps]) -> KernelVerdict:
    case, root, dumps = work
    try:
        places = tuple(_places(case, root))
        sides = (case.problem, case.name), (case.benchmark, "benchmark")
        problem, benchmark = (_folder(case, root, *side) / "dump" for side in sides)
        with tempfile.TemporaryDirectory(dir=root) as folder:
            said = _diagnosed(problem, benchmark, Path(folder), dumps)
    except Exception as error:  # one case that cannot run is a line of the table
        return KernelVerdict(case, error=f"{type(error).__name__}: {error}")
    found = tuple((finding.step, finding.node) for finding in said)
    elsewhere = tuple(
        (int(place["step"]), str(place["node"])) for finding in said for place in finding.places
    )
    reasons = tuple("; ".join(finding.reasons) for finding in said)
    return KernelVerdict(case, found, elsewhere, reasons, places)


def _places(case: KernelCase, root: Path) -> Iterator[Place]:
    truth = replace(case, task="statistics")
    sound = _folder(truth, root, case.problem, "sound") / "dump"
    least = SHOWS * torch.finfo(case.benchmark.dtype).eps / 2
    for fault in case.faults:
        wrong = _folder(truth, root, case.problem, fault.name) / "dump"
        places = first_places(wrong, sound)
        # What is kept for a gradient, or added up unrecorded, may show by less than it was moved.
        yield places if shown(wrong, sound, places) >= least else frozenset()


def _diagnosed(problem: Path, benchmark: Path, folder: Path, dumps: Dumps) -> list[Suspect]:
    if dumps != "ours":
        problem = shutil.copytree(problem, folder / "problem")
        benchmark = shutil.copytree(benchmark, folder / "benchmark")
        strip(problem, dumps)
        strip(benchmark, dumps)
    made = build(problem, benchmark, folder / "out", BuildOptions(workers=1))
    return diagnose(made.path).findings


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
