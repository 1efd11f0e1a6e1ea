"""The small network of the examples: one linear layer and a ReLU, as the user's guide has it."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

CONFIGS = Path(__file__).with_name("configs")


class ModuleOP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(in_features=8, out_features=4)
        self.linear_2 = nn.Linear(in_features=4, out_features=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.linear_2(self.linear_1(x)))


def out_folder() -> str:
    """The folder that the command line names."""
    return sys.argv[1] if len(sys.argv) > 1 else "./msprobe_dump"
