"""Records one side of a case with our own dumper; call it in a process that ends afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import torch

from evaluation.zoo.controls import Setting
from evaluation.zoo.experiment import Experiment
from evaluation.zoo.models import experiment_of
from msprobe.pytorch import PrecisionDebugger

Task = Literal["statistics", "tensor"]


def record(architecture: str, setting: Setting, task: Task, folder: Path) -> None:
    """Train for the steps of an experiment and leave the dump below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with setting.entered():
        made = experiment(architecture, setting)
        config = {"task": task, "level": "mix", "dump_path": str(folder / "dump")}
        choice = {"sketch": setting.sketch, "rank": [], "step": [], task: {}}
        path = folder / "config.json"
        path.write_text(json.dumps(config | choice))
        made.train(PrecisionDebugger(config_path=str(path)))


def experiment(architecture: str, setting: Setting) -> Experiment:
    """A fresh experiment with the change of a setting in it; seeds torch."""
    torch.manual_seed(setting.seed)
    made = experiment_of(architecture, setting.dtype)
    setting.change(made)
    # A fault may draw random numbers while it is put in; training draws the same on both sides.
    torch.manual_seed(setting.seed + 1)
    return made
