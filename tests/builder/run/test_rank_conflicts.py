"""Two runs of one layout are compared rank by rank; what ranks say of each other is said, too."""

from __future__ import annotations

import json
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from builder import build, diagnose
from builder.results.report import Suspect
from msprobe.pytorch import PrecisionDebugger
from tests.rank_processes import run_ranks


def _train(folder: Path, fault: str, rank: int) -> None:
    """Two replicas under torch's DDP, whose sums no recorded call shows."""
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 8), nn.LayerNorm(8))
    model = DistributedDataParallel(inner)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    debugger = PrecisionDebugger(config_path=str(folder / "config.json"))
    for step in range(2):
        debugger.start(model)
        batch = torch.randn(4, 8, generator=torch.Generator().manual_seed(10 * step + rank))
        with model.no_sync() if fault == "no_sync" else nullcontext():
            model(batch).square().mean().backward()
        scaled = inner[0].weight.grad
        if fault == "scaled" and rank == 1 and scaled is not None:
            scaled.mul_(0.5)
        optimizer.step()
        debugger.stop()
        debugger.step()
        optimizer.zero_grad()
    debugger.close()


def _recorded(folder: Path, fault: str = "") -> Path:
    folder.mkdir()
    config = {"task": "statistics", "level": "mix", "dump_path": str(folder / "dump")}
    config |= {"rank": [], "step": [], "statistics": {}}
    (folder / "config.json").write_text(json.dumps(config))
    run_ranks(partial(_train, folder, fault), 2, folder, "replicas")
    return folder / "dump"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _recorded(tmp_path_factory.mktemp("sound") / "run")


def _found(problem: Path, benchmark: Path, output: Path) -> list[Suspect]:
    return diagnose(build(problem, benchmark, output).path).findings


def test_gradients_of_replicas_that_nobody_adds_up_are_named(sound: Path, tmp_path: Path) -> None:
    first = _found(_recorded(tmp_path / "run", "no_sync"), sound, tmp_path / "out")[0]
    assert first.node == "optimizer"  # of all parameters, none of which is the cause
    assert first.ranks == (0, 1)
    assert first.axis == "dp"
    assert first.reasons[0].startswith("input.gradient should be the same on all dp ranks")
    assert first.reasons[0].endswith("the ranks of the benchmark run agree there")


def test_one_gradient_is_named_by_its_parameter(sound: Path, tmp_path: Path) -> None:
    first = _found(_recorded(tmp_path / "run", "scaled"), sound, tmp_path / "out")[0]
    assert first.node == "Module.module.0.Linear.parameters_grad.0"
    assert "on all dp ranks and differs by 0.5" in first.reasons[0]


def test_what_ranks_say_in_both_runs_is_how_the_program_works(tmp_path: Path) -> None:
    ours, theirs = (_recorded(tmp_path / name, "no_sync") for name in ("one", "other"))
    assert _found(ours, theirs, tmp_path / "out") == []
