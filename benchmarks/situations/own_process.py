"""Runs a situation in a process of its own: what ends it, or stays in it, is nobody else's."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from pathlib import Path

import torch

from benchmarks.situations.outcomes import Result, append_result, read_results
from benchmarks.situations.run import run_situation
from benchmarks.situations.situation import SITUATIONS, Situation

_LIMIT = 900  # seconds; the slowest took 60 on an idle machine
_FOUND, _SAID = "outcomes", "said"


def run_in_a_process(situation: Situation) -> Result:
    """The outcomes of a situation, or what has kept it from having any.

    Its process is a fork of one that has only imported torch, which takes longer than most.
    """
    if situation.missing:
        return f"not run: {', '.join(situation.missing)} is not installed"
    multiprocessing.set_forkserver_preload(["benchmarks.situations.families"])
    processes = multiprocessing.get_context("forkserver")
    with tempfile.TemporaryDirectory() as folder:
        process = processes.Process(target=_one, args=(situation.name, folder))
        process.start()
        process.join(_LIMIT)
        if process.exitcode is None:
            process.kill()
            return f"no end after {_LIMIT} s"
        found = read_results(Path(folder) / _FOUND)
        said = (Path(folder) / _SAID).read_text(encoding="utf-8", errors="replace")
    last = (said.strip().splitlines() or ["nothing said"])[-1]
    return found.get(situation.name, f"exit code {process.exitcode}: {last[:200]}")


def _one(name: str, folder: str) -> None:
    """Run one situation in this process; what it says goes into a file."""
    said = os.open(Path(folder) / _SAID, os.O_WRONLY | os.O_CREAT)
    for descriptor in (1, 2):
        os.dup2(said, descriptor)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the one who forks has none
    torch.set_num_threads(1)
    situation = SITUATIONS[name]
    append_result(Path(folder) / _FOUND, situation, run_situation(situation, Path(folder)))
