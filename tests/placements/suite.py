"""Records the programs and asks `msprobe check` alone about each: no benchmark, no hint."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
import torch.distributed as dist

from builder.dump.sources import find_sources
from builder.errors import InputError
from builder.ranks.checks.self_check import CheckFinding, check_dump
from builder.ranks.layout.coordinates import Sizes
from tests.placements.case import Case
from tests.placements.run import Run

Answer = Literal["first", "near", "silent", "elsewhere", "error"]
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_PATIENCE = 120  # seconds until a recording that hangs is given up
_NEAR = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was said of one run of a case; `wrong` tells whether its fault was in it."""

    case: Case
    wrong: bool
    precision: str
    answer: Answer
    said: tuple[str, ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether a fault is named first, or a sound run left alone."""
        return self.answer == ("first" if self.wrong else "silent")


def judge(cases: Sequence[Case], precisions: Sequence[str]) -> Iterator[Verdict]:
    """Two verdicts of every case in each format, of the fault and of its right twin."""
    for case in cases:
        for precision in precisions:
            for wrong in (True, False):
                yield judge_one(case, wrong, precision)


def judge_one(case: Case, wrong: bool, precision: str) -> Verdict:
    """Record a program and hold its ranks against each other."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            record(case, wrong, precision, Path(folder))
            findings = check_dump(find_sources(Path(folder) / "dump"), Sizes()).findings
        except (RuntimeError, InputError) as error:
            return Verdict(case, wrong, precision, "error", (str(error)[-600:],))
    said = tuple(f"{f.node} (step {f.step}): {f.text}" for f in findings)
    return Verdict(case, wrong, precision, _answer(case, findings), said)


def _answer(case: Case, findings: Sequence[CheckFinding]) -> Answer:
    expressions = [re.compile(each) for each in case.culprits]
    hits = [any(e.search(finding.node) for e in expressions) for finding in findings]
    if not hits:
        return "silent"
    if hits[0]:
        return "first"
    return "near" if any(hits[:_NEAR]) else "elsewhere"


def record(case: Case, wrong: bool, precision: str, folder: Path) -> None:
    """Run a program in one process a rank and leave the dump in `folder`/dump.

    Raises RuntimeError with the text of the first process that failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = {"task": "statistics", "level": "mix", "dump_path": str(folder / "dump")}
    config |= {"rank": [], "step": [], "statistics": {}}
    (folder / "config.json").write_text(json.dumps(config))
    # Forked from a process that has torch and no threads: gloo aborts where its own were lost.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.placements.families"])
    world = 1
    for size in case.axes.values():
        world *= size
    arguments = (case, wrong, precision, folder, world)
    workers = [context.Process(target=_work, args=(rank, *arguments)) for rank in range(world)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(_PATIENCE)
    late = [worker for worker in workers if worker.is_alive()]
    for worker in late:
        worker.kill()
        worker.join()
    said = sorted(folder.glob("error*.txt"))
    if late or said or any(worker.exitcode for worker in workers):
        raise RuntimeError(said[0].read_text() if said else f"{case.name} did not end")


def _work(rank: int, case: Case, wrong: bool, precision: str, folder: Path, world: int) -> None:
    signal.alarm(_PATIENCE)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    torch.set_num_threads(1)
    try:
        store = dist.FileStore(str(folder / "store"), world)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
        made = Run(
            case.axes, rank, wrong, PRECISIONS[precision], folder / "config.json", case.is_told
        )
        case.program(made)
        dist.barrier()
        _wait_for_all(folder, rank, world)
    except BaseException:
        (folder / f"error{rank}.txt").write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)  # gloo's threads of other processes may be gone already


def _wait_for_all(folder: Path, rank: int, world: int) -> None:
    """Stay until no process is in a collective: gloo drops what a closed end has not read."""
    (folder / f"ended{rank}").touch()
    while any(not (folder / f"ended{other}").exists() for other in range(world)):
        time.sleep(0.01)  # SIGALRM ends a wait for what died
