"""A dump switched on while the job runs, by its file: python examples/switched.py OUT"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from net import ModuleOP, out_folder

from msprobe.pytorch import PrecisionDebugger, seed_all

folder = Path(out_folder())
folder.mkdir(parents=True, exist_ok=True)
config = folder / "config.json"
config.write_text(json.dumps({"dump_path": str(folder), "dump_enable": False}), encoding="utf-8")

seed_all()
debugger = PrecisionDebugger(config_path=config)
model = ModuleOP()

for step in range(3):
    if step == 1:  # what a person would do in an editor
        now = {"dump_path": str(folder), "dump_enable": True, "level": "L0"}
        config.write_text(json.dumps(now), encoding="utf-8")
    debugger.start(model)
    model(torch.randn(4, 8)).sum().backward()
    debugger.stop()
    debugger.step()
