"""The entry of a job whose model lies in another file: python examples/cross_file/train.py OUT"""

from __future__ import annotations

import sys

import torch
from module import ModuleOP

from msprobe.pytorch import PrecisionDebugger

debugger = PrecisionDebugger(dump_path=sys.argv[1], level="L1")

if __name__ == "__main__":
    module = ModuleOP()

    x = torch.randn(10, 8)
    out = module(x)
    loss = out.sum()
    loss.backward()

    debugger.step()
