"""A function of one's own as an entry of the dump: python examples/custom_function.py OUT"""

from __future__ import annotations

from types import SimpleNamespace

import torch
from net import out_folder

from msprobe.pytorch import PrecisionDebugger, seed_all


def compute(x: torch.Tensor, scale: float) -> torch.Tensor:
    return torch.sin(x) * scale


operators = SimpleNamespace(compute=compute)  # the package of a custom operator

seed_all()
debugger = PrecisionDebugger(dump_path=out_folder(), level="L1")
debugger.register_custom_api(module=operators, api="compute", api_prefix="operators")

x = torch.randn(4, requires_grad=True)
debugger.start()
operators.compute(x, scale=2.0).sum().backward()
debugger.stop()
debugger.step()

debugger.restore_custom_api(operators, "compute")
