"""Another shape than expected spreads by broadcasting: what reads it is no further cause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.reasons import ExtraCalls, MissingCalls
from msprobe_core import PrecisionDebugger

ROWS = 12
Residual = Callable[[Tensor, Tensor], Tensor]


def right(u: Tensor, slope: Tensor) -> Tensor:
    return slope + u.squeeze(-1) * slope - 0.1 * slope


def product(u: Tensor, slope: Tensor) -> Tensor:
    return slope + u * slope - 0.1 * slope


def quotient(u: Tensor, slope: Tensor) -> Tensor:
    return slope + slope / (u.squeeze(-1) + 3) - torch.sin(slope)


def wide_quotient(u: Tensor, slope: Tensor) -> Tensor:
    return slope + slope / (u + 3) - torch.sin(slope)


def difference(u: Tensor, slope: Tensor) -> Tensor:
    return torch.where(slope > 0, u.squeeze(-1) - slope, slope)


def wide_difference(u: Tensor, slope: Tensor) -> Tensor:
    return torch.where(slope > 0, u - slope, slope)


def recorded(path: Path, residual: Residual) -> Path:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    debugger = PrecisionDebugger(level="L1", dump_path=str(path))
    for _ in range(3):
        x = torch.linspace(-1, 1, ROWS, dtype=torch.float64).reshape(-1, 1).requires_grad_(True)
        with debugger.recording(model):
            u = model(x)
            (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
            loss = residual(u, slope.squeeze(-1)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    debugger.close()
    return path


@pytest.mark.parametrize(
    ("problem", "benchmark"),
    [(product, right), (right, product), (wide_quotient, quotient), (wide_difference, difference)],
)
def test_a_squeeze_too_few_is_the_one_cause_in_all_steps(
    tmp_path: Path, problem: Residual, benchmark: Residual
) -> None:
    ours = recorded(tmp_path / "problem", problem)
    theirs = recorded(tmp_path / "benchmark", benchmark)
    (finding,) = builder.build(ours, theirs, tmp_path / "o").findings
    assert finding.name == "Tensor.squeeze.1.forward"
    assert isinstance(finding.reasons[0], ExtraCalls if problem is right else MissingCalls)
    assert len(finding.places) == 2
