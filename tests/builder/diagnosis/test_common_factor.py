"""Where all elements are multiplied by one number, that number is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.reasons import Explained
from builder.work.outcome import StoredFinding
from msprobe.pytorch import PrecisionDebugger
from tests.builder.diagnosis.recorded_programs import Change, found, same


class Program(nn.Module):
    """Two layers; between them something happens that nothing records."""

    def __init__(self, between: Change = same) -> None:
        super().__init__()
        self.first, self.second, self.between = nn.Linear(16, 16), nn.Linear(16, 4), between

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        with torch._C.DisableTorchFunction():
            hidden = self.between(hidden)
        return self.second(hidden)


@pytest.mark.parametrize(
    ("between", "factor"),
    [
        (lambda x: 256 * x, 256.0),
        (lambda x: -x, -1.0),
        (lambda x: 1.5 * x, 1.5),
        (lambda x: x + 1.0, None),
        (lambda x: x * torch.linspace(1.0, 2.0, x.shape[-1]), None),
        (lambda x: x.flip(0), None),
    ],
)
def test_a_factor_of_all_elements_is_told_and_no_other(
    between: Change, factor: float | None, tmp_path: Path
) -> None:
    assert_told(found(tmp_path, Program, between=between), factor)


@pytest.mark.parametrize(("between", "factor"), [(lambda x: -3 * x, -3.0), (lambda x: x + 1, None)])
def test_it_is_told_of_whole_tensors_too(
    between: Change, factor: float | None, tmp_path: Path
) -> None:
    sides = []
    for name, change in (("problem", between), ("benchmark", same)):
        torch.manual_seed(0)
        model, folder = Program(change), tmp_path / name
        debugger = PrecisionDebugger(level="mix", task="tensor", dump_path=str(folder))
        with debugger.recording(model):
            model(torch.randn(32, 16))
        debugger.close()
        sides.append(folder)
    assert_told(builder.build(*sides, tmp_path / "o").findings, factor)


def assert_told(findings: tuple[StoredFinding, ...], factor: float | None) -> None:
    first, *_ = findings
    told = [reason for reason in first.reasons if isinstance(reason, Explained)]
    if factor is None:
        assert all(reason.of != "factor" for reason in told)
    else:
        assert [reason.factor for reason in told] == [pytest.approx(factor, rel=1e-5)]
