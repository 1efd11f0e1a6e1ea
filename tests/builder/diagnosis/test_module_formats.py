"""A module that computes in another format by itself is named in dumps of modules alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.reasons import PrecisionDiffers
from builder.run.build import BuildResult
from msprobe_core import PrecisionDebugger

WIDTH = 16


class Field(nn.Module):
    """Two layers, in bfloat16 under autocast; what they put out goes on through a call."""

    def __init__(self) -> None:
        super().__init__()
        self.put, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.out(torch.relu(self.put(x))).float())


class Renderer(nn.Module):
    """Adds up in float32, unless autocast reaches it."""

    def __init__(self, leaks: bool) -> None:
        super().__init__()
        self.leaks = leaks

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.leaks):
            return torch.matmul(x, torch.linspace(0.1, 1.0, WIDTH).unsqueeze(-1))


class Model(nn.Module):
    def __init__(self, leaks: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.field, self.renderer = Field(), Renderer(leaks)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            color = self.field(x)
        return torch.as_tensor(self.renderer(color))


def record(path: Path, level: str, leaks: bool) -> None:
    model = Model(leaks)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    debugger = PrecisionDebugger(level=level, dump_path=str(path), task="tensor")
    for step in range(2):
        x = torch.randn(64, WIDTH, generator=torch.Generator().manual_seed(step))
        with debugger.recording(model):
            optimizer.zero_grad()
            model(x).float().square().mean().backward()
            optimizer.step()
    debugger.close()


def compare(tmp_path: Path, level: str = "L0", leaks: bool = True) -> BuildResult:
    record(tmp_path / "problem", level, leaks)
    record(tmp_path / "benchmark", level, leaks=False)
    return builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o")


def test_a_module_is_named_that_puts_out_another_format_than_it_is_fed(tmp_path: Path) -> None:
    (finding,) = compare(tmp_path).findings
    assert (finding.name, finding.step) == ("Module.renderer.Renderer.forward.0", 0)
    assert finding.reasons[0] == PrecisionDiffers("bfloat16", "float32")
    assert not finding.heals


def test_of_calls_the_call_is_named_and_not_the_module_around_it(tmp_path: Path) -> None:
    finding = compare(tmp_path, "mix").findings[0]
    assert finding.name == "Torch.matmul.0.forward"


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_equal_formats_are_no_finding(tmp_path: Path, level: str) -> None:
    assert compare(tmp_path, level, leaks=False).findings == ()


def test_what_bfloat16_rounds_away_leads_on_to_what_float32_shows(tmp_path: Path) -> None:
    result = compare(tmp_path)
    told = builder.diagnose(result.path).findings[0]
    assert told.divergent is not None
    assert told.divergent > 4
    assert told.propagated_to + (told.perhaps or 0) == told.divergent
