"""Behind one cause a second is named whose gradient depends on nothing of what differs before."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.reasons import ExtraReplaced
from builder.work.outcome import StoredFinding
from msprobe_core import PrecisionDebugger

WIDTH, ROWS = 8, 24


class Model(nn.Module):
    def __init__(self, turned: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.put, self.out, self.turned = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1), turned

    def forward(self, x: Tensor) -> Tensor:
        x = self.put(x)
        x = torch.cos(x) if self.turned else torch.sin(x)
        return self.out(x).squeeze(-1)


def loss(errors: Tensor, keep: Tensor, how: str) -> Tensor:
    if how == "padding counts":
        return (errors * keep).mean()
    if how == "sum":
        return (errors * keep).sum()
    return (errors * keep).sum() / keep.sum()


def record(path: Path, turned: bool, how: str) -> None:
    model = Model(turned)
    x = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(1))
    keep = (torch.arange(ROWS) % 3 > 0).float()
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    with debugger.recording(model):
        loss(model(x).square(), keep, how).backward()
    debugger.close()


def findings(tmp_path: Path, turned: bool, how: str) -> tuple[StoredFinding, ...]:
    record(tmp_path / "problem", turned, how)
    record(tmp_path / "benchmark", False, "masked")
    return builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o").findings


def test_a_loss_of_other_calls_is_named_behind_another_cause(tmp_path: Path) -> None:
    first, second = findings(tmp_path, True, "padding counts")
    assert first.name == "Torch.cos.0.forward"
    assert second.name == "Tensor.mean.0.forward"
    told = second.reasons[0]
    assert isinstance(told, ExtraReplaced)
    assert told.names == "Tensor.mean.0.forward"
    assert second.stands_alone


def test_a_loss_that_both_divide_alike_is_no_second_cause(tmp_path: Path) -> None:
    (only,) = findings(tmp_path, True, "masked")
    assert only.name == "Torch.cos.0.forward"


@pytest.mark.parametrize("how", ["padding counts", "sum"])
def test_alone_it_is_the_first(tmp_path: Path, how: str) -> None:
    found = findings(tmp_path, False, how)
    assert len(found) == 1
