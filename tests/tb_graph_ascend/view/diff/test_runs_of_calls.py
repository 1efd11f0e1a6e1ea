"""A run of calls between modules says on each side how many calls that side has in it."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

import builder
from builder.results.database import ResultDatabase
from msprobe.pytorch import PrecisionDebugger
from tb_graph_ascend.view.diff.index import Wanted, diff_index
from tb_graph_ascend.view.diff.window import window_of


class _Model(nn.Module):
    def __init__(self, *, masked: bool) -> None:
        super().__init__()
        self.layer, self.head, self.masked = nn.Linear(8, 8), nn.Linear(8, 8), masked

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.layer(x).tanh().exp().sin().cos().abs().sqrt().log1p().relu()
        if self.masked:
            hidden = (hidden * hidden.sign()).add(1).sub(1).square()
        out: Tensor = self.head(hidden)
        return out


def recorded(folder: Path, *, masked: bool) -> Path:
    torch.manual_seed(0)
    model = _Model(masked=masked)
    debugger = PrecisionDebugger(dump_path=str(folder), level="mix")
    with debugger.recording(model):
        model(torch.randn(4, 8))
    debugger.close()
    return folder


def test_each_side_counts_its_own_calls(tmp_path: Path) -> None:
    ours, theirs = recorded(tmp_path / "a", masked=False), recorded(tmp_path / "b", masked=True)
    database = ResultDatabase(builder.build(ours, theirs, tmp_path / "o").path)
    rows = window_of(diff_index(database, 0, 0), Wanted(), 0, 100, None).rows
    (run,) = (row for row in rows if row.kind == "collection")
    sides = run.problem, run.benchmark
    counts = [side.calls for side in sides if side is not None]
    assert counts == [database.node(side.id).children for side in sides if side is not None]
    assert counts[1] == counts[0] + 5
    assert {row.problem.calls for row in rows if row.kind != "collection" and row.problem} == {0}
    database.close()
