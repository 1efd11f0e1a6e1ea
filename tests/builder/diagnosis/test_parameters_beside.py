"""Of a module whose parameters differ all are told: which ones is often the reason."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import builder
from builder.reasons import ParameterDiffers, SameOf
from msprobe.pytorch import PrecisionDebugger


def recorded(folder: Path, level: str, moved: float) -> Path:
    torch.manual_seed(0)
    model = nn.Sequential(nn.GRU(4, 4, num_layers=2))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.add_(moved if "bias" in name else 0.0)
    debugger = PrecisionDebugger(dump_path=str(folder), level=level)
    with debugger.recording(model):
        model(torch.randn(3, 2, 4))
    debugger.close()
    return folder


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_the_others_are_counted_and_named(tmp_path: Path, level: str) -> None:
    ours, theirs = (recorded(tmp_path / str(by), level, by) for by in (0.5, 0.0))
    (finding,) = builder.build(ours, theirs, tmp_path / "o").findings
    worst, *_ = finding.reasons
    more = next(reason for reason in finding.reasons if isinstance(reason, SameOf))
    assert isinstance(worst, ParameterDiffers)
    assert more.count == 3
    assert "weight" not in more.names
