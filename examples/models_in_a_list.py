"""Two models at once, the rank given by hand: python examples/models_in_a_list.py OUT"""

from __future__ import annotations

import torch
from net import ModuleOP, out_folder

from msprobe.pytorch import PrecisionDebugger, seed_all

seed_all()
debugger = PrecisionDebugger(dump_path=out_folder(), level="L0")
models = [ModuleOP(), ModuleOP()]

debugger.set_init_step(100)  # training goes on from a checkpoint
debugger.start(model=models, rank_id=0)
for model in models:
    model(torch.randn(4, 8)).sum().backward()
debugger.stop()
debugger.step()
