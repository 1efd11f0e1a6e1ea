"""Records sound layouts and faults, compares each with one process, and judges the diagnosis."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from builder import BuildOptions, build, diagnose
from builder.dump.reader import Chunk, read_parallel
from builder.dump.sources import find_sources
from builder.ranks.checks.self_check import check_dump
from builder.ranks.layout.coordinates import Sizes
from builder.ranks.merge_options import MergeOptions
from evaluation.parallel.fault import Fault
from evaluation.parallel.faults import FAULTS
from evaluation.parallel.layout import Layout
from evaluation.parallel.megatron import IS_INSTALLED
from evaluation.parallel.record import Task, record
from evaluation.parallel.size import Precision, Size
from evaluation.parallel.sound import MEGATRON, SOUND, SOUND_MEGATRON
from evaluation.parallel.strip import Dumps, strip

TASKS: tuple[Task, ...] = ("statistics", "tensor")
_FAULTS = "evaluation/parallel/faults/"
# What a run is held against: the benchmark of its case, a sound run of its own layout, or nothing.
Against = Literal["benchmark", "same", "none"]


@dataclass(frozen=True, slots=True)
class Case:
    """One pair to record and compare; `fault` is None for a sound pair.

    `dumps` tells what is left in the dumps of their layout: without it, flags say it.
    """

    name: str
    task: Task
    seed: int
    problem: Layout
    benchmark: Layout
    size: Size
    fault: Fault | None = None
    dumps: Dumps = "ours"
    against: Against = "benchmark"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the diagnosis said; `place` is that of the first right answer, from 1."""

    case: Case
    findings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    place: int | None = None
    right_ranks: bool | None = None
    compared: int = 0
    set_aside: int = 0
    error: str | None = None


def cases(
    tasks: Sequence[Task] = TASKS,
    seed: int = 0,
    only: str = "",
    dumps: Dumps = "ours",
    precision: Precision = "float32",
    against: Against = "benchmark",
) -> list[Case]:
    """Every sound pair and every fault, for each task, in one format of numbers.

    Without the benchmarks of the cases, those of one process are left out, and what is left of
    sound pairs is each problem once.
    """
    listed = []
    for task in tasks:
        for problem, benchmark, size in (*SOUND, *(SOUND_MEGATRON if IS_INSTALLED else ())):
            name = f"{problem} : {benchmark}{size}"
            listed.append(Case(name, task, seed, problem, benchmark, size))
        for fault in FAULTS:
            layout = fault.layout
            benchmark = MEGATRON if layout.native == "megatron" else fault.benchmark
            listed.append(Case(fault.name, task, seed, layout, benchmark, fault.size, fault))
    chosen = [
        replace(case, dumps=dumps, size=case.size.in_precision(precision), against=against)
        for case in listed
        if re.search(only, case.name)
    ]
    return chosen if against == "benchmark" else _of_own_layout(chosen, against)


def _of_own_layout(listed: Sequence[Case], against: Against) -> list[Case]:
    """Cases whose benchmark is a sound run of the same layout; a sound one has none."""
    own = [replace(c, benchmark=c.problem) for c in listed if c.problem.world_size > 1]
    faults = [case for case in own if case.fault is not None]
    sound = {(c.problem, c.size, c.task): c for c in own if c.fault is None}
    return faults if against == "same" else [*sound.values(), *faults]


def judge(listed: Sequence[Case], processes: int, kept: Path | None = None) -> Iterator[Verdict]:
    """Verdicts in the order of the cases; recordings in the folder `kept` are used again."""
    with tempfile.TemporaryDirectory() as folder:
        root = kept or Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        for case in listed:
            if case.against != "none":
                record_benchmark(case, root)
        # Not daemons: a recording starts a process a rank.
        context = multiprocessing.get_context("fork")
        waiting = [(case, root) for case in listed]
        for start in range(0, len(waiting), processes):
            yield from _judge_some(context, waiting[start : start + processes])


def _judge_some(
    context: multiprocessing.context.ForkContext, some: Sequence[tuple[Case, Path]]
) -> Iterator[Verdict]:
    running = []
    for case, root in some:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_answer, args=(case, root, sender))
        process.start()
        sender.close()
        running.append((case, process, receiver))
    for case, process, receiver in running:
        try:
            verdict = receiver.recv()
        except EOFError:
            verdict = Verdict(case, error="ended early")
        process.join()
        assert isinstance(verdict, Verdict)
        yield verdict


def _answer(case: Case, root: Path, sender: multiprocessing.connection.Connection) -> None:
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    try:
        sender.send(_judge(case, root))
    except Exception as error:
        sender.send(Verdict(case, error=f"{type(error).__name__}: {str(error)[-300:]}"))


def _settings(case: Case) -> str:
    size = f"{case.size.experts}{case.size}".replace(" ", "-")
    return f"{size}-{case.task}-{case.size.precision}-{case.dumps}-{case.seed}"


def record_benchmark(case: Case, root: Path) -> Path:
    """The dump of a case's benchmark side."""
    return _record(case, root, case.benchmark, f"{case.benchmark}-{_settings(case)}")


def record_problem(case: Case, root: Path) -> Path:
    """The dump of a case's problem side."""
    if case.fault is None:
        return _record(case, root, case.problem, f"{case.problem}-{_settings(case)}")
    return _record(case, root, case.problem, f"{case.name}-{_settings(case)}", case.fault)


def _record(case: Case, root: Path, layout: Layout, name: str, fault: Fault | None = None) -> Path:
    """The dump of that name, recorded unless it is there; cases side by side may ask for one."""
    folder = root / name
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            change = fault.change if fault is not None else None
            record(layout, folder, case.task, case.seed, case.size, change)
            strip(folder / "dump", case.dumps)
            (folder / "whole").touch()
    return folder / "dump"


def _judge(case: Case, root: Path) -> Verdict:
    if case.against == "none":
        return _judge_alone(case, record_problem(case, root))
    with tempfile.TemporaryDirectory(dir=root) as folder:
        made = build(
            record_problem(case, root),
            record_benchmark(case, root),
            Path(folder) / "out",
            BuildOptions(workers=1, merging=merging_of(case)),
        )
        failed = [outcome.error for outcome in made.outcomes if outcome.error is not None]
        if failed:
            return Verdict(case, error=failed[0])
        return _verdict(case, made.path, made.values, root)


def _judge_alone(case: Case, dump: Path) -> Verdict:
    """What the ranks of the one run say of each other; `compared` is what they were held by."""
    checked = check_dump(find_sources(dump), merging_of(case).problem)
    found = checked.findings
    verdict = Verdict(
        case,
        tuple(f"{f.step} {f.node}" for f in found),
        tuple(f.text for f in found),
        compared=sum(counted.count for counted in checked.evidence.compared),
    )
    places = _places(case, [(f.node, f.inside) for f in found])
    return replace(verdict, place=places[0] if places else None)


def _places(case: Case, named: Sequence[tuple[str | None, ...]]) -> list[int]:
    """The places, from 1, of the findings one of whose names fits the fault, or whose line does."""
    culprits = (*case.fault.culprits, _FAULTS) if case.fault else ()
    expressions = [re.compile(each) for each in culprits]
    return [
        place
        for place, names in enumerate(named, 1)
        if any(e.search(name or "") for e in expressions for name in names)
    ]


def _whole_names(case: Case, root: Path) -> Callable[..., tuple[str, ...]]:
    """Names of a rank with the numbers that layers have in the whole model: stages count from 0."""
    if case.against != "same":
        return lambda _, *names: tuple(name or "" for name in names)
    dump = record_problem(case, root)
    headers = {s.rank: read_parallel(s.path) for s in find_sources(dump).sources}

    def whole(rank: int, *names: str | None) -> tuple[str, ...]:
        header = headers.get(rank)
        chunks = header.chunks if header is not None else ()
        return tuple(_renumbered(name or "", chunks) for name in names)

    return whole


def _renumbered(name: str, chunks: Sequence[Chunk]) -> str:
    """Give a name the real number of its layer.

    >>> _renumbered("Module.layers.0.up.Linear.forward.0", [Chunk(0, {"layers.0": 2})])
    'Module.layers.2.up.Linear.forward.0'
    """
    for chunk in chunks:
        of_chunk = f"{chunk.index}." if len(chunks) > 1 else ""
        for local, number in chunk.layers.items():
            start = f"Module.{of_chunk}{local}."
            if name.startswith(start):
                stem = local.rpartition(".")[0]
                return f"Module.{of_chunk}{stem}.{number}.{name.removeprefix(start)}"
    return name


def _line_in_faults(stack: str | None) -> str:
    """The line of a call where a fault's own code makes it: who names that has found the fault.

    That is the innermost line outside of torch; what sound code does below a fault is not meant.
    """
    lines = [line for line in (stack or "").splitlines() if "/torch/" not in line]
    return lines[0].strip() if lines and _FAULTS in lines[0] else ""


def merging_of(case: Case) -> MergeOptions:
    """What the command line says: nothing for our own dumps, all sizes for others."""
    if case.dumps == "ours":
        return MergeOptions()
    order = "zigzag" if case.problem.zigzag else "contiguous"
    return MergeOptions(
        problem=_sizes(case.problem),
        benchmark=_sizes(case.benchmark),
        cp_order=order if case.problem.cp > 1 else "auto",
    )


def _sizes(layout: Layout) -> Sizes:
    return Sizes(
        rank_size=layout.world_size,
        tp=layout.tp,
        cp=layout.cp,
        ep=layout.ep,
        dp=layout.dp,
        pp=layout.pp,
        vpp=layout.vpp,
    )


def _verdict(case: Case, path: Path, values: dict[str, int], root: Path) -> Verdict:
    found = diagnose(path).findings
    compared = values.get("compared", 0)
    verdict = Verdict(
        case,
        tuple(f"{f.step} {f.node}" for f in found),
        tuple("; ".join(f.reasons) for f in found),
        compared=compared,
        set_aside=values.get("set_aside", 0),
    )
    if case.fault is None:
        return verdict
    of_stage = _whole_names(case, root)
    named = [(*of_stage(f.rank, f.node, f.inside), _line_in_faults(f.stack)) for f in found]
    places = _places(case, named)
    if not places:
        return verdict
    ranks = tuple(found[places[0] - 1].ranks or ())
    right = ranks == case.fault.ranks if case.fault.ranks else None
    return replace(verdict, place=places[0], right_ranks=right)
