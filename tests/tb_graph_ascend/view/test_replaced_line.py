"""Where one call stands in place of another, page and command show the line of both."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

import builder
from builder.results.database import ResultDatabase
from msprobe.pytorch import PrecisionDebugger
from tb_graph_ascend.view.answer import answer


class _Gate(nn.Module):
    def __init__(self, strict: bool) -> None:
        super().__init__()
        self.layer, self.strict = nn.Linear(8, 8), strict

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.layer(x).round()
        if self.strict:
            return x * (hidden < 0)
        return x * (hidden <= 0)


def recorded(folder: Path, *, strict: bool) -> Path:
    torch.manual_seed(0)
    model = _Gate(strict)
    debugger = PrecisionDebugger(dump_path=str(folder), level="mix")
    with debugger.recording(model):
        model(torch.randn(64, 8)).sum()
    debugger.close()
    return folder


def test_the_line_of_the_call_in_its_place_stands_beside_it(tmp_path: Path) -> None:
    ours, theirs = recorded(tmp_path / "a", strict=False), recorded(tmp_path / "b", strict=True)
    path = builder.build(ours, theirs, tmp_path / "o").path
    first, *_ = builder.diagnose(path).findings
    assert first.node == "Tensor.__le__.0.forward"
    there = first.line_there
    assert there is not None and there.code == "return x * (hidden < 0)"
    cause, *_ = answer(ResultDatabase(path)).causes
    assert cause.stack_there is not None
    assert any("return x * (hidden < 0)" in line for line in cause.stack_there)
