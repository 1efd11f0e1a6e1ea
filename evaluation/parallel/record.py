"""Records an experiment, one process a rank, with our own dumper."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

from evaluation.parallel.experiment import Experiment, experiment
from evaluation.parallel.layout import Layout, Mesh
from evaluation.parallel.megatron import MegatronExperiment
from evaluation.parallel.size import Size
from msprobe.pytorch import PrecisionDebugger
from tests.rank_processes import run_ranks

Task = Literal["statistics", "tensor"]
Change = Callable[[Experiment], None]


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
    train = partial(_train, layout, folder, seed, size or Size(), change, header)
    run_ranks(train, layout.world_size, folder, str(layout))


def _train(
    layout: Layout,
    folder: Path,
    seed: int,
    size: Size,
    change: Change | None,
    header: bool,
    rank: int,
) -> None:
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
