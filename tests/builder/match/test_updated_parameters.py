"""An optimizer's calls pair by the parameter that they update, also in the step of its state."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import builder
from msprobe.pytorch import PrecisionDebugger

RATES = (0.01, 0.2)


def recorded(path: Path, fast: str) -> Path:
    """Two steps; parameters whose name holds `fast` learn faster, in a group behind the others."""
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8)) for _ in range(3)]
    model = nn.Sequential(*layers)
    slow = [p for name, p in model.named_parameters() if fast not in name]
    rest = [p for name, p in model.named_parameters() if fast in name]
    groups = [{"params": slow, "lr": RATES[0]}, {"params": rest, "lr": RATES[1]}]
    optimizer = torch.optim.AdamW(groups, foreach=False, weight_decay=0.1)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    for step in range(2):
        x = torch.randn(4, 8, generator=torch.Generator().manual_seed(step))
        with debugger.recording(model):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    debugger.close()
    return path


@pytest.mark.parametrize("moved", ["1.1.", "0.0.", "2.0.weight"])
def test_a_parameter_in_the_group_of_others_is_one_cause(tmp_path: Path, moved: str) -> None:
    """Norms begin alike: nothing but their gradients tells one from another."""
    ours, theirs = recorded(tmp_path / "ours", moved), recorded(tmp_path / "theirs", "2.1.bias")
    result = builder.build(ours, theirs, tmp_path / "o")
    assert not any(o.unmatched_problem or o.unmatched_benchmark for o in result.outcomes)
    (finding,) = result.findings
    assert (finding.step, finding.kind) == (0, "argument_differs")
    assert finding.line is not None and "optimizer.step()" in finding.line
