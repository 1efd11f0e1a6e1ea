"""A model that switches recording on for a part of its forward pass."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from msprobe.pytorch import PrecisionDebugger


class ModuleOP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(in_features=8, out_features=4)
        self.linear_2 = nn.Linear(in_features=4, out_features=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        PrecisionDebugger.start()
        x1 = self.linear_1(x)
        PrecisionDebugger.stop()
        x2 = self.linear_2(x1)
        return F.relu(x2)
