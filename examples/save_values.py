"""Level debug, only values one names and their gradients: python examples/save_values.py OUT"""

from __future__ import annotations

import torch
from net import CONFIGS, ModuleOP, out_folder

from msprobe.pytorch import PrecisionDebugger, seed_all

seed_all()
debugger = PrecisionDebugger(config_path=CONFIGS / "debug.json", dump_path=out_folder())
model = ModuleOP()

for _ in range(2):
    hidden = model.linear_1(torch.randn(4, 8))
    PrecisionDebugger.save(hidden, "hidden")
    PrecisionDebugger.save({"scale": 2, "mask": hidden > 0}, "settings", save_backward=False)
    model.linear_2(hidden).sum().backward()
    debugger.step()
