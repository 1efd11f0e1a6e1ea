"""Calls whose fault nothing but their own output shows, or not even that in the same step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.work.options import BuildOptions
from builder.work.outcome import StoredFinding
from msprobe.pytorch import PrecisionDebugger

Change = Callable[[Tensor], Tensor]


class Net(nn.Module):
    """A layer, its running statistics, and a step that makes numbers of a mask or an index."""

    def __init__(self, step: Change = torch.sin, **norm: float) -> None:
        super().__init__()
        self.put, self.norm, self.step = nn.Linear(16, 16), nn.BatchNorm1d(16, **norm), step

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.step(self.norm(self.put(x))))


def recorded(path: Path, model: nn.Module) -> Path:
    torch.manual_seed(0)
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -0.5, 0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    for _ in range(2):
        x = torch.randn(32, 16)
        with debugger.recording(model):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()
    debugger.close()
    return path


def found(tmp_path: Path, ours: nn.Module, theirs: nn.Module) -> tuple[StoredFinding, ...]:
    sides = recorded(tmp_path / "p", ours), recorded(tmp_path / "b", theirs)
    return builder.build(*sides, tmp_path / "o", BuildOptions(workers=1)).findings


def chosen(x: Tensor, other: float = 0.1) -> Tensor:
    return x * torch.where(x > 0, 1.0, other)


def marked(x: Tensor, factor: float = 1.0) -> Tensor:
    return x * (torch.gt(x, 0) * factor)


def counted(x: Tensor, base: float = 1.0) -> Tensor:
    return x * torch.pow(base, torch.arange(16) - 16)


def filled(x: Tensor, value: float = 0.1) -> Tensor:
    return x + torch.full_like(x > 0, value, dtype=torch.float32)


FAULTS: dict[str, tuple[Change, Change, str]] = {
    "where": (partial(chosen, other=0.2), chosen, "Torch.where.0.forward"),
    "a product with a mask": (partial(marked, factor=1.1), marked, "Tensor.__mul__.0.forward"),
    "a power of indices": (partial(counted, base=1.1), counted, "Torch.pow.0.forward"),
    "filled like a mask": (partial(filled, value=0.2), filled, "Torch.full_like.0.forward"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_what_is_made_of_masks_and_indices_alone_is_judged(
    tmp_path: Path, fault: tuple[Change, Change, str]
) -> None:
    problem, benchmark, call = fault
    findings = found(tmp_path, Net(problem), Net(benchmark))
    assert [finding.name for finding in findings] == [call]
    assert not findings[0].heals


@pytest.mark.parametrize("setting", [{"momentum": 0.9}, {"momentum": 0.01}])
def test_running_statistics_that_go_elsewhere_are_no_other_way_to_the_same(
    tmp_path: Path, setting: dict[str, float]
) -> None:
    """Outputs of a training step are the same; those of an evaluation later are not."""
    (finding,) = found(tmp_path, Net(**setting), Net())
    assert finding.name == "Functional.batch_norm.0.forward" and not finding.heals
    assert "input.6" in str(finding.reasons[0])
