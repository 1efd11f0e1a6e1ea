"""Rewritten calls that agreed are no fault in the next step, where weights were moved apart."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

import builder
from msprobe.pytorch import PrecisionDebugger

Way = Literal["sound", "rewritten", "stale"]


class _Cell(nn.Module):
    """Both projections by themselves, or as one product; `stale` never reads new weights."""

    def __init__(self, way: Way) -> None:
        super().__init__()
        self.from_input, self.from_state = nn.Linear(6, 16), nn.Linear(8, 16, bias=False)
        self.way, self.kept = way, None

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        if self.way == "sound":
            gate, new = (self.from_input(x) + self.from_state(h)).chunk(2, -1)
        else:
            both = torch.cat([self.from_input.weight, self.from_state.weight], 1)
            if self.way == "stale":
                self.kept = both.detach() if self.kept is None else self.kept
                both = both + (self.kept - both).detach()
            xh = torch.cat([x, h], 1)
            gate, new = torch.addmm(self.from_input.bias, xh, both.t()).chunk(2, -1)
        return torch.sigmoid(gate) * h + torch.tanh(new)


def recorded(folder: Path, way: Way, task: str) -> Path:
    torch.manual_seed(0)
    cell, head = _Cell(way), nn.Linear(8, 3)
    model = nn.ModuleDict({"cell": cell, "head": head})
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2, foreach=False)
    debugger = PrecisionDebugger(dump_path=str(folder), level="mix", task=task)
    for step in range(2):
        generator = torch.Generator().manual_seed(step)
        x = torch.randn(5, 4, 6, generator=generator)
        with debugger.recording(model):
            h = torch.zeros(4, 8)
            for t in range(5):
                h = cell(x[t], h)
            head(h).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    debugger.close()
    return folder


@pytest.mark.parametrize("task", ["statistics", "tensor"])
@pytest.mark.parametrize(("way", "is_named"), [("rewritten", False), ("stale", True)])
def test_what_is_off_as_the_weights_are_is_not_named(
    tmp_path: Path, way: Way, is_named: bool, task: str
) -> None:
    ours, theirs = (recorded(tmp_path / one, one, task) for one in (way, "sound"))
    found = [f for f in builder.build(ours, theirs, tmp_path / "o").findings if not f.heals]
    assert bool(found) == is_named
    assert all("in forward" in (f.line or "") for f in found)
