"""Records sound layouts and faults, compares each with one process, and judges the diagnosis."""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from builder import BuildOptions, build, diagnose
from builder.ranks.layout.coordinates import Sizes
from builder.ranks.options import MergeOptions
from tests.parallel.fault import Fault
from tests.parallel.faults import FAULTS
from tests.parallel.faults.base import (
    DP,
    EP,
    EXPERTS,
    GROUPED,
    PP,
    SP,
    TIED,
    TP,
    TRANSPOSED,
    VPP,
    ZERO,
    ZIGZAG,
)
from tests.parallel.layout import Layout
from tests.parallel.megatron import IS_INSTALLED
from tests.parallel.model import Size
from tests.parallel.record import Task, record
from tests.parallel.strip import Dumps, strip

TASKS: tuple[Task, ...] = ("statistics", "tensor")
SINGLE = Layout()
SCHEDULE = Layout(pp=2, micro_batches=4, native="schedule")
# Pairs that must be silent: a layout against another, the first as the problem.
SOUND: tuple[tuple[Layout, Layout, Size], ...] = (
    (TP, SINGLE, Size()),
    (Layout(tp=4), SINGLE, Size()),
    (SP, SINGLE, Size()),
    (Layout(tp=4, sequence_parallel=True), SINGLE, Size()),
    (DP, SINGLE, Size()),
    (Layout(dp=4), SINGLE, Size()),
    (Layout(dp=2, micro_batches=2), SINGLE, Size()),
    (Layout(dp=2, native="ddp"), SINGLE, Size()),
    (ZERO, SINGLE, Size()),
    (Layout(dp=2, native="fsdp2"), SINGLE, Size()),
    (Layout(tp=2, native="dtensor"), SINGLE, Size()),
    (Layout(tp=4, native="dtensor"), SINGLE, Size()),
    (Layout(cp=2), SINGLE, Size()),
    (ZIGZAG, SINGLE, Size()),
    (PP, SINGLE, Size()),
    (PP, Layout(micro_batches=4), Size()),
    (SCHEDULE, SINGLE, Size()),
    (SCHEDULE, Layout(micro_batches=4), Size()),
    (VPP, SINGLE, Size()),
    (EP, SINGLE, EXPERTS),
    (Layout(tp=2, dp=2), SINGLE, Size()),
    (Layout(tp=2, pp=2, micro_batches=2), SINGLE, Size()),
    (Layout(tp=2, cp=2), SINGLE, Size()),
    (Layout(dp=2, pp=2, micro_batches=2), SINGLE, Size()),
    (TP, SINGLE, Size(clip=True)),
    (EP, SINGLE, Size(experts=4, clip=True)),
    (TP, SINGLE, GROUPED),
    (TP, SINGLE, TIED),
    (PP, SINGLE, TIED),
    (Layout(tp=2, pp=2, micro_batches=2), SINGLE, TIED),
    (SINGLE, TP, Size()),
    (Layout(tp=4), TP, Size()),
    (Layout(tp=2, pp=2, micro_batches=2), TP, Size()),
    (DP, TP, Size()),
    (TP, TRANSPOSED, Size()),
    (DP, TRANSPOSED, Size()),
    (PP, TRANSPOSED, Size()),
    (TRANSPOSED, TP, Size()),
)


MEGATRON = Layout(native="megatron")
SOUND_MEGATRON: tuple[tuple[Layout, Layout, Size], ...] = (
    (Layout(tp=2, native="megatron"), MEGATRON, Size()),
    (Layout(tp=2, sequence_parallel=True, native="megatron"), MEGATRON, Size()),
    (Layout(dp=2, native="megatron"), MEGATRON, Size()),
    (Layout(tp=2, dp=2, native="megatron"), MEGATRON, Size()),
    (Layout(dp=2, micro_batches=2, native="megatron"), MEGATRON, Size()),
)


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
    tasks: Sequence[Task] = TASKS, seed: int = 0, only: str = "", dumps: Dumps = "ours"
) -> list[Case]:
    """Every sound pair and every fault, for each task."""
    listed = []
    for task in tasks:
        for problem, benchmark, size in (*SOUND, *(SOUND_MEGATRON if IS_INSTALLED else ())):
            name = f"{problem} : {benchmark}{size}"
            listed.append(Case(name, task, seed, problem, benchmark, size))
        for fault in FAULTS:
            layout = fault.layout
            benchmark = MEGATRON if layout.native == "megatron" else fault.benchmark
            listed.append(Case(fault.name, task, seed, layout, benchmark, fault.size, fault))
    return [replace(case, dumps=dumps) for case in listed if re.search(only, case.name)]


def judge(listed: Sequence[Case], processes: int) -> Iterator[Verdict]:
    """Verdicts in the order of the cases."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _record_benchmarks(listed, root)
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


def _benchmark(case: Case) -> str:
    size = f"{case.size.experts}{case.size}".replace(" ", "-")
    return f"{case.benchmark}-{size}-{case.task}-{case.seed}"


def _record_benchmarks(listed: Sequence[Case], root: Path) -> None:
    for name, case in {_benchmark(case): case for case in listed}.items():
        record(case.benchmark, root / name, case.task, case.seed, case.size)
        strip(root / name / "dump", case.dumps)


def _judge(case: Case, root: Path) -> Verdict:
    with tempfile.TemporaryDirectory(dir=root) as folder:
        problem = Path(folder) / "problem"
        change = case.fault.change if case.fault is not None else None
        record(case.problem, problem, case.task, case.seed, case.size, change)
        strip(problem / "dump", case.dumps)
        made = build(
            problem / "dump",
            root / _benchmark(case) / "dump",
            Path(folder) / "out",
            BuildOptions(workers=1, merging=_merging(case)),
        )
        failed = [outcome.error for outcome in made.outcomes if outcome.error is not None]
        if failed:
            return Verdict(case, error=failed[0])
        return _verdict(case, made.path, made.values)


def _merging(case: Case) -> MergeOptions:
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


def _verdict(case: Case, path: Path, values: dict[str, int]) -> Verdict:
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
    expressions = [re.compile(expression) for expression in case.fault.culprits]
    hits = [
        (place, f)
        for place, f in enumerate(found, 1)
        if any(e.search(f.node) or e.search(f.inside or "") for e in expressions)
    ]
    if not hits:
        return verdict
    place, first = hits[0]
    right = tuple(first.ranks or ()) == case.fault.ranks if case.fault.ranks else None
    return replace(verdict, place=place, right_ranks=right)
