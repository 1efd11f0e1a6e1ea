"""Level mix between two entries, both included: python examples/scope.py OUT"""

from __future__ import annotations

import torch
from net import CONFIGS, ModuleOP, out_folder

from msprobe.pytorch import PrecisionDebugger, seed_all

seed_all()
debugger = PrecisionDebugger(config_path=CONFIGS / "scope.json", dump_path=out_folder())
model = ModuleOP()

debugger.start(model)
model(torch.randn(4, 8)).sum().backward()
debugger.stop()
debugger.step()
