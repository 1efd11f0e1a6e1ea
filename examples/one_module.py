"""One module alone, under a name of one's own: python examples/one_module.py OUT"""

from __future__ import annotations

import torch
from net import ModuleOP, out_folder

from msprobe.pytorch import PrecisionDebugger, module_dump, module_dump_end

debugger = PrecisionDebugger(dump_path=out_folder(), level="L1")

if __name__ == "__main__":
    module = ModuleOP()

    debugger.start()

    x = torch.tanh(torch.randn(10, 8))  # recorded as ever
    module_dump(module, "MyModuleOP")
    out = module(x)  # recorded as one module, without what runs inside
    module_dump_end()
    loss = out.sum()  # recorded as ever
    loss.backward()

    debugger.stop()
    debugger.step()
