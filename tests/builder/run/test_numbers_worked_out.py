"""A number that a script reads off a loss and gives to the next step follows from what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import nn

import builder
from builder.reasons import ArgumentDiffers
from builder.work.outcome import StoredFinding
from msprobe_core import PrecisionDebugger


@dataclass(frozen=True)
class Run:
    """A bound that is clamped at, a factor of the loss, and whether that follows the loss."""

    bound: float = 1.0
    factor: float = 1.0
    follows: bool = True


def recorded(path: Path, run: Run) -> Path:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, foreach=False)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    factor = run.factor
    for _ in range(3):
        with debugger.recording(model):
            out = model(torch.randn(16, 8))
            one, other = out.clamp(-run.bound, run.bound).square().mean(), out.abs().mean()
            optimizer.zero_grad()
            (one * factor + other).backward()
            optimizer.step()
        factor = other.item() / one.item() if run.follows else factor
    debugger.close()
    return path


def found(tmp_path: Path, problem: Run, benchmark: Run) -> tuple[StoredFinding, ...]:
    sides = (("problem", problem), ("benchmark", benchmark))
    ours, theirs = (recorded(tmp_path / name, run) for name, run in sides)
    return builder.build(ours, theirs, tmp_path / "o").findings


def test_it_is_no_cause_of_its_own(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, Run(bound=0.3), Run())
    assert finding.name == "Tensor.clamp.0.forward"


@pytest.mark.parametrize("follows", [True, False])
def test_what_is_another_number_from_the_first_step_is(tmp_path: Path, follows: bool) -> None:
    first, second = found(tmp_path, Run(0.3, 0.5, follows), Run(follows=follows))
    assert first.name == "Tensor.clamp.0.forward"
    assert second.step == 0
    assert isinstance(second.reasons[0], ArgumentDiffers)
    assert second.reasons[0].problem == "0.5"
