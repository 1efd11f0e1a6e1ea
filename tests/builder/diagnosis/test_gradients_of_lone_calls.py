"""A call whose output agrees by chance, and its gradient not, is named itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import builder
from builder.reasons import ExtraCalls, MissingCalls
from builder.work.outcome import StoredFinding
from msprobe_core import PrecisionDebugger


class Penalised(nn.Module):
    """Leaves its reference by a penalty that is nothing as long as both are alike."""

    def __init__(self, *, bent: bool) -> None:
        super().__init__()
        self.layer, self.bent = nn.Linear(8, 4), bent

    def forward(self, x: Tensor) -> Tensor:
        told = F.log_softmax(self.layer(x), -1)
        gap = told.detach() - told
        penalty = gap.exp() - gap - 1 if self.bent else gap
        return 0.5 * penalty - told


def record(path: Path, level: str, *, bent: bool) -> Path:
    torch.manual_seed(0)
    model = Penalised(bent=bent)
    debugger = PrecisionDebugger(level=level, dump_path=str(path))
    with debugger.recording(model):
        model(torch.randn(6, 8)).mean().backward()
    debugger.close()
    return path


def found(tmp_path: Path, level: str, *, bent: bool) -> tuple[StoredFinding, ...]:
    ours = record(tmp_path / "p", level, bent=bent)
    theirs = record(tmp_path / "b", level, bent=not bent)
    return builder.build(ours, theirs, tmp_path / "o").findings


@pytest.mark.parametrize("level", ["L1", "mix"])
@pytest.mark.parametrize("bent", [True, False])
def test_the_forward_calls_are_named(tmp_path: Path, level: str, bent: bool) -> None:
    (finding,) = found(tmp_path, level, bent=bent)
    assert isinstance(finding.reasons[0], ExtraCalls if bent else MissingCalls)
    names = finding.reasons[0].names.split(", ")
    assert names[0] == "Tensor.exp.0.forward"
    assert all(name.endswith(".forward") for name in names)
    assert finding.of_benchmark is not bent
