"""In dumps of modules a value that was changed in place is told by the module that read it so."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.reasons import ReadBefore
from builder.run.build import BuildResult
from msprobe_core import PrecisionDebugger

WIDTH = 16


class Mixer(nn.Module):
    """Adds two features and puts them through a gate; adds in place where it is wrong."""

    def __init__(self, in_place: bool) -> None:
        super().__init__()
        self.gate, self.in_place = nn.Linear(WIDTH, WIDTH), in_place

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x = x.add_(y) if self.in_place else x + y
        return torch.sigmoid(self.gate(x)) * x


class Tagger(nn.Module):
    def __init__(self, in_place: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words, self.chars = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mixer, self.tags = Mixer(in_place), nn.Linear(WIDTH, WIDTH)
        self.auxiliary = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        word = self.words(x)
        mixed = self.mixer(word, self.chars(x * 0.5))
        return torch.as_tensor(self.tags(mixed) + self.auxiliary(word))


def record(path: Path, in_place: bool, task: str) -> None:
    model = Tagger(in_place)
    debugger = PrecisionDebugger(level="L0", dump_path=str(path), task=task)
    with debugger.recording(model):
        model(torch.randn(32, WIDTH, generator=torch.Generator().manual_seed(1))).sum().backward()
    debugger.close()


def compare(tmp_path: Path, in_place: bool, task: str) -> BuildResult:
    for side, own in (("problem", in_place), ("benchmark", False)):
        record(tmp_path / side, own, task)
    return builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o")


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_the_module_that_read_it_so_is_told_and_no_second_cause(tmp_path: Path, task: str) -> None:
    result = compare(tmp_path, True, task)
    (finding,) = result.findings
    assert finding.name == "Module.auxiliary.Linear.forward.0"
    gate, words = "Module.mixer.gate.Linear.forward.0", "Module.words.Linear.forward.0"
    assert finding.reasons[0] == ReadBefore("input.0", gate, words)
    told = builder.diagnose(result.path).findings[0]
    assert told.propagated_to + (told.perhaps or 0) == told.divergent


def test_what_stays_as_it_was_is_no_finding(tmp_path: Path) -> None:
    assert compare(tmp_path, False, "statistics").findings == ()
