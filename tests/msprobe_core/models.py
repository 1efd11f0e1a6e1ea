"""The model that most of the dumper's tests run, and one recorded step of any model."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from msprobe_core import PrecisionDebugger


class Net(nn.Module):
    """Two linear layers of width 4 with a ReLU between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


def one_step(debugger: PrecisionDebugger, model: nn.Module, run: Callable[[], object]) -> None:
    """Record `run` as a whole step."""
    debugger.start(model)
    run()
    debugger.stop()
    debugger.step()
