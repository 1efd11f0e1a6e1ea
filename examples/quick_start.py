"""Quick start: one forward and backward pass, dumped: python examples/quick_start.py OUT"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from net import CONFIGS, out_folder
from torch import nn

from msprobe.pytorch import PrecisionDebugger, seed_all

seed_all()
debugger = PrecisionDebugger(config_path=CONFIGS / "statistics.json", dump_path=out_folder())


class ModuleOP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features=8, out_features=4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x1 = self.linear(x)
        return F.relu(x1)


if __name__ == "__main__":
    model = ModuleOP()

    debugger.start(model=model)  # from here on calls are recorded

    x = torch.randn(10, 8)
    out = model(x)
    loss = out.sum()
    loss.backward()

    debugger.stop()  # may be started again: the step is still the same
    debugger.step()  # the step ends; what is recorded next belongs to the next one
