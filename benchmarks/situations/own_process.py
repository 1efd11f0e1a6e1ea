"""Runs a situation in a process of its own: what ends it, or stays in it, is nobody else's."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from datetime import timedelta
from pathlib import Path

import torch

from benchmarks.situations.outcomes import Result, append_result, read_results
from benchmarks.situations.run import Outcome, run_situation
from benchmarks.situations.situation import SITUATIONS, Situation

_LONGEST_WAIT = timedelta(seconds=60)
"""For another rank: who waits longer has been hung up, and raises."""
_LIMIT = 900  # seconds; the slowest took 60 on an idle machine
_FOUND, _SAID = "outcomes", "said"


def run_in_a_process(situation: Situation) -> Result:
    """The outcomes of a situation, of all its ranks, or what has kept it from having any.

    Its processes are forks of one that has only imported torch, which takes longer than most.
    """
    if situation.missing:
        return f"not run: {', '.join(situation.missing)} is not installed"
    multiprocessing.set_forkserver_preload(["benchmarks.situations.families"])
    context = multiprocessing.get_context("forkserver")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            context.Process(target=_one, args=(situation.name, folder, rank))
            for rank in range(situation.ranks)
        ]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join(_LIMIT)
        if any(process.exitcode is None for process in ranks):
            for process in ranks:
                process.kill()
            return f"no end after {_LIMIT} s"
        found: list[Outcome] = []
        for rank, process in enumerate(ranks):
            result = read_results(Path(folder) / f"{_FOUND}{rank}").get(situation.name)
            if not isinstance(result, list):
                return f"exit code {process.exitcode}: {_last_said(Path(folder), rank)}"
            found += result
        return found


def _last_said(folder: Path, rank: int) -> str:
    said = (folder / f"{_SAID}{rank}").read_text(encoding="utf-8", errors="replace")
    return (said.strip().splitlines() or ["nothing said"])[-1][:200]


def _one(name: str, folder: str, rank: int) -> None:
    """Run one situation in this process; what it says goes into a file."""
    said = os.open(Path(folder) / f"{_SAID}{rank}", os.O_WRONLY | os.O_CREAT)
    for descriptor in (1, 2):
        os.dup2(said, descriptor)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the one who forks has none
    torch.set_num_threads(1)
    situation = SITUATIONS[name]
    if situation.ranks > 1:
        torch.distributed.init_process_group(
            "gloo",
            init_method=f"file://{folder}/meeting",
            rank=rank,
            world_size=situation.ranks,
            timeout=_LONGEST_WAIT,
        )
    result = run_situation(situation, Path(folder))
    append_result(Path(folder) / f"{_FOUND}{rank}", situation, result)
    if situation.ranks > 1:
        torch.distributed.barrier()
        os._exit(0)  # threads of gloo outlive its groups, and abort a process that ends
