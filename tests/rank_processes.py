"""Runs a program in one process a rank, for suites that record what ranks do."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist

PATIENCE = 120  # seconds until ranks that hang are given up
Work = Callable[[int], None]


def run_ranks(work: Work, world: int, folder: Path, name: str) -> None:
    """Call `work` with each rank in a process of its own, and wait for all.

    Each has gloo's process group where there are several, and says nothing. Raises RuntimeError
    with the text of the first process that failed; `name` is that of the program.
    """
    context = multiprocessing.get_context("fork")  # torch is imported once
    workers = [
        context.Process(target=_work, args=(work, rank, world, folder)) for rank in range(world)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE)
    late = [worker for worker in workers if worker.is_alive()]
    for worker in late:
        worker.kill()
        worker.join()
    said = sorted(folder.glob("error*.txt"))
    codes = [worker.exitcode for worker in workers]
    if late or said or any(codes):
        ended = "did not end" if late else f"processes ended with {codes}"
        raise RuntimeError(said[0].read_text() if said else f"{name}: {ended}")


def _work(work: Work, rank: int, world: int, folder: Path) -> None:
    signal.alarm(PATIENCE)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    torch.set_num_threads(1)
    try:
        if world > 1:
            store = dist.FileStore(str(folder / "store"), world)
            dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
        work(rank)
        if world > 1:
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
