"""What a step is fed otherwise, the next one is as well, though by then all else differs too."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import builder
from builder.work.options import BuildOptions
from msprobe.pytorch import PrecisionDebugger, seed_all
from tests.told import facts

STEPS, WIDTH = 3, 8


class Up(nn.Module):
    """Joins what it is fed with a skip, which it brings to its length."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Conv1d(2 * WIDTH, WIDTH, 3, padding=1)

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        x, skip = F.interpolate(x, 16), F.interpolate(skip, 16)
        return cast(Tensor, self.mix(torch.cat((x, skip), 1)))


class Network(nn.Module):
    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault
        self.first, self.second = (nn.Conv1d(WIDTH, WIDTH, 3, padding=1) for _ in range(2))
        self.up, self.head = Up(), nn.Linear(16, 4, bias=False)
        self.shift = nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        wide = self.first(x) * 2
        narrow = self.second(wide)[:, :, ::2] * 3
        x = self.up(narrow, narrow if self.fault == "skip" else wide).relu()
        given = (self.shift,) if self.fault == "given" else ()
        return F.linear(x, self.head.weight, *given)


def recorded(path: Path, fault: str) -> Path:
    seed_all()
    model = Network(fault)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    for _ in range(STEPS):
        debugger.start(model)
        optimizer.zero_grad()
        model(torch.randn(2, WIDTH, 16)).square().mean().backward()
        optimizer.step()
        debugger.stop()
        debugger.step()
    debugger.close()
    return path


@pytest.mark.parametrize(
    ("fault", "code", "name"),
    [
        ("skip", "rewired", "Module.up.Up.forward.0"),
        ("given", "argument_differs", "Functional.linear.0.forward"),
    ],
)
def test_it_is_one_cause_with_a_place_in_each_step(
    tmp_path: Path, fault: str, code: str, name: str
) -> None:
    runs = recorded(tmp_path / "p", fault), recorded(tmp_path / "b", "none")
    first, *_ = builder.build(*runs, tmp_path / "o", BuildOptions(workers=1)).findings
    assert (first.step, first.name, facts(first.reasons[0])["code"]) == (0, name, code)
    assert [(one.step, one.name) for one in first.places] == [(1, name), (2, name)]
