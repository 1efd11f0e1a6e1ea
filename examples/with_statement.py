"""The same loop with a `with` statement, and an end: python examples/with_statement.py OUT"""

from __future__ import annotations

import torch
from net import ModuleOP, out_folder

from msprobe.pytorch import PrecisionDebugger, seed_all

seed_all()
debugger = PrecisionDebugger(dump_path=out_folder(), level="L0")
model = ModuleOP()

for _ in range(2):
    with debugger.recording(model):
        model(torch.randn(4, 8)).sum().backward()

debugger.close()  # nothing is left behind in this process
