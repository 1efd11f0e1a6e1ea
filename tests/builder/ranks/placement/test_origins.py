"""Where values begin to be a rank's own is told however small its part of them is."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from builder.dump.sources import find_sources
from builder.ranks.checks.check_finding import CheckFinding
from builder.ranks.checks.self_check import check_dump
from builder.ranks.layout.coordinates import Sizes
from builder.reasons import OwnAddedToWhole
from msprobe.pytorch import PrecisionDebugger
from tests.rank_processes import run_ranks


class _Own(nn.Module):
    """A share of the work that nobody adds up."""

    def __init__(self, rank: int, size: float) -> None:
        super().__init__()
        self.turn, self.size = 1.0 + rank, size

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(x * self.turn) * self.size


class _Net(nn.Module):
    def __init__(self, rank: int, size: float) -> None:
        super().__init__()
        self.first, self.own, self.norm = nn.Linear(16, 16), _Own(rank, size), nn.LayerNorm(16)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        out: Tensor = self.norm(hidden + self.own(hidden))
        return out


def _train(folder: Path, size: float, rank: int) -> None:
    torch.manual_seed(0)
    model = _Net(rank, size).to(torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    axes = {"tp": {"rank": rank, "size": 2, "ranks": [0, 1]}}
    debugger = PrecisionDebugger(config_path=str(folder / "config.json"))
    debugger.start(model, parallel={"axes": axes})
    x = torch.randn(32, 16, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    model(x).pow(3).mean().backward()
    optimizer.step()
    debugger.stop()
    debugger.step()
    debugger.close()


def _found(folder: Path, size: float) -> list[CheckFinding]:
    config = {"task": "statistics", "level": "mix", "dump_path": str(folder / "dump")}
    config |= {"rank": [], "step": [], "statistics": {}}
    (folder / "config.json").write_text(json.dumps(config))
    run_ranks(partial(_train, folder, size), 2, folder, "own")
    return check_dump(find_sources(folder / "dump"), Sizes()).findings


@pytest.mark.parametrize("size", [1.0, 0.02])
def test_a_part_is_named_where_it_is_added(tmp_path: Path, size: float) -> None:
    first = _found(tmp_path, size)[0]
    assert isinstance(first.reasons[0], OwnAddedToWhole), first.text
    assert first.node == "Module.own._Own.forward.0"


def test_parts_that_are_none_are_left_alone(tmp_path: Path) -> None:
    assert _found(tmp_path, 0.0) == []
