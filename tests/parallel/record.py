"""Records an experiment, one process a rank, with our own dumper."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import torch
import torch.distributed as dist

from msprobe.pytorch import PrecisionDebugger
from tests.parallel.experiment import Experiment, experiment
from tests.parallel.layout import Layout, Mesh
from tests.parallel.megatron import MegatronExperiment
from tests.parallel.size import Size

Task = Literal["statistics", "tensor"]
Change = Callable[[Experiment], None]
PATIENCE = 120  # seconds until a recording that hangs is given up


def record(
    layout: Layout,
    folder: Path,
    task: Task,
    seed: int = 0,
    size: Size | None = None,
    change: Change | None = None,
    header: bool = True,
) -> None:
    """Train under a layout and leave the dump in `folder`/dump, the losses beside it.

    Raises RuntimeError with the text of the first process that failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = {"task": task, "level": "mix", "dump_path": str(folder / "dump")}
    path = folder / "config.json"
    path.write_text(json.dumps({**config, "rank": [], "step": [], task: {}}))
    context = multiprocessing.get_context("fork")  # torch is imported once
    arguments = (layout, folder, seed, size or Size(), change, header)
    workers = [
        context.Process(target=_work, args=(rank, *arguments)) for rank in range(layout.world_size)
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
        raise RuntimeError(said[0].read_text() if said else f"{layout}: {ended}")


def _work(
    rank: int,
    layout: Layout,
    folder: Path,
    seed: int,
    size: Size,
    change: Change | None,
    header: bool,
) -> None:
    signal.alarm(PATIENCE)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    os.dup2(silence, sys.stderr.fileno())
    torch.set_num_threads(1)
    try:
        _train(rank, layout, folder, seed, size, change, header)
    except BaseException:
        (folder / f"error{rank}.txt").write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)  # gloo's threads of other processes may be gone already


def _train(
    rank: int,
    layout: Layout,
    folder: Path,
    seed: int,
    size: Size,
    change: Change | None,
    header: bool,
) -> None:
    if layout.world_size > 1:
        store = dist.FileStore(str(folder / "store"), layout.world_size)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=layout.world_size)
    made: Experiment | MegatronExperiment
    if layout.native == "megatron":
        made = MegatronExperiment(size, layout, rank, seed)
    else:
        made = experiment(size, Mesh(layout, rank), seed)
    if change is not None:
        change(made)  # type: ignore[arg-type]
    debugger = PrecisionDebugger(config_path=str(folder / "config.json"))
    made.train(debugger, header=header and layout.world_size > 1)
    debugger.close()
    (folder / f"losses{rank}.json").write_text(json.dumps(made.losses))
    if layout.world_size > 1:
        dist.barrier()
        _wait_for_all(folder, rank, layout.world_size)


def _wait_for_all(folder: Path, rank: int, world_size: int) -> None:
    """Stay until no process is in a collective: gloo drops what a closed end has not read."""
    (folder / f"ended{rank}").touch()
    while any(not (folder / f"ended{other}").exists() for other in range(world_size)):
        time.sleep(0.01)  # SIGALRM ends a wait for what died
