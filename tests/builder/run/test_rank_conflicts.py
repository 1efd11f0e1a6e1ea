"""Two runs of one layout are compared rank by rank; what ranks say of each other is said, too."""

from __future__ import annotations

import json
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from builder import build, diagnose
from builder.results.report import Suspect
from evaluation.parallel.faults.base import PP
from evaluation.parallel.faults.pipeline import pp_stage_division
from evaluation.parallel.record import record
from evaluation.parallel.size import Size
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
        with torch.no_grad():
            if fault in ("replica", "replicas", "beside") and rank == 1 and step == 0:
                inner[2].weight.mul_(1.1)
            if (fault == "beside" or (fault == "replicas" and rank == 1)) and step == 0:
                inner[0].weight.mul_(1.2)
        debugger.start(model)
        batch = torch.randn(4, 8, generator=torch.Generator().manual_seed(10 * step + rank))
        with model.no_sync() if fault in ("no_sync", "mixed", "both") else nullcontext():
            factor = 2.0 if fault in ("two", "both") and step == 0 else 1.0
            (model(batch).square().mean() * factor).backward()
        scaled = inner[0].weight.grad
        if fault in ("scaled", "two") and rank == 1 and scaled is not None:
            scaled.mul_(0.5)
        # In another order on each rank, no gradient meets its own.
        weights = [inner[0].weight, inner[2].weight][:: 1 if rank == 0 else -1]
        for weight in weights if fault == "mixed" else ():
            dist.all_reduce(weight.grad)
        kept = inner[2].weight.detach().clone()
        optimizer.step()
        if fault == "stale" and rank == 1 and step == 0:
            inner[2].weight.data.copy_(kept)
        debugger.stop()
        debugger.step()
        optimizer.zero_grad()
    debugger.close()


def _recorded(folder: Path, fault: str = "", level: str = "mix") -> Path:
    folder.mkdir()
    config = {"task": "statistics", "level": level, "dump_path": str(folder / "dump")}
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


def test_what_ranks_say_is_asked_of_calls_alone_too(tmp_path: Path) -> None:
    ours, theirs = (_recorded(tmp_path / name, name, "L1") for name in ("no_sync", "sound"))
    first = _found(ours, theirs, tmp_path / "out")[0]
    assert first.node == "Tensor.lerp_.0.forward"
    assert first.reasons[0].startswith("input.1 differs")


def test_one_gradient_is_named_by_its_parameter(sound: Path, tmp_path: Path) -> None:
    first = _found(_recorded(tmp_path / "run", "scaled"), sound, tmp_path / "out")[0]
    assert first.node == "Module.module.0.Linear.parameters_grad.0"
    assert "on all dp ranks and differs by 0.5" in first.reasons[0]


def test_what_ranks_say_in_both_runs_is_how_the_program_works(tmp_path: Path) -> None:
    ours, theirs = (_recorded(tmp_path / name, "no_sync") for name in ("one", "other"))
    assert _found(ours, theirs, tmp_path / "out") == []


def test_a_gradient_apart_and_the_call_that_shows_in_its_update_are_one(
    sound: Path, tmp_path: Path
) -> None:
    found = _found(_recorded(tmp_path / "run", "scaled"), sound, tmp_path / "out")
    first = [each for each in found if each.step == 0]
    assert len(first) == 1
    assert "on all dp ranks and differs by 0.5" in first[0].reasons[0]
    assert any("only the problem run calls Tensor.mul_.0.forward" in r for r in first[0].reasons)


def test_what_differs_before_the_gradients_stands_for_itself(sound: Path, tmp_path: Path) -> None:
    found = _found(_recorded(tmp_path / "run", "two"), sound, tmp_path / "out")
    first = [each for each in found if each.step == 0]
    assert [any("dp ranks" in r for r in each.reasons) for each in first] == [False, True]
    assert "the argument input.1 is 2.0 here and 1.0 in the benchmark" in first[0].reasons[0]


def test_gradients_that_nobody_adds_up_are_certain_behind_another_cause(
    sound: Path, tmp_path: Path
) -> None:
    found = _found(_recorded(tmp_path / "run", "both"), sound, tmp_path / "out")
    words = {
        any("was not reduced" in reason for reason in each.reasons): each.certainty
        for each in found
        if each.step == 0
    }
    assert {told: (c and c.word, c and c.behind) for told, c in words.items()} == {
        False: ("certain", False),
        True: ("certain", False),
    }


def test_the_benchmark_tells_which_of_two_replicas_is_off(sound: Path, tmp_path: Path) -> None:
    (only,) = _found(_recorded(tmp_path / "run", "replica"), sound, tmp_path / "out")
    assert only.node == "Module.module.2.Linear.forward.0"
    assert (only.rank, only.ranks, only.coordinates) == (1, (1,), "dp 1 of 2")
    assert "parameters.weight should be the same on all dp ranks" in only.reasons[0]


def test_replicas_that_a_step_left_apart_are_that_step_s_fault(sound: Path, tmp_path: Path) -> None:
    (only,) = _found(_recorded(tmp_path / "run", "stale"), sound, tmp_path / "out")
    assert only.step == 0
    assert any("parameters.weight should be the same on all dp ranks" in r for r in only.reasons)


def test_sums_that_are_out_of_step_are_one(sound: Path, tmp_path: Path) -> None:
    found = _found(_recorded(tmp_path / "run", "mixed"), sound, tmp_path / "out")
    mixed = [each for each in found if "adds up the gradients of unlike" in each.reasons[0]]
    assert [each.node for each in mixed] == ["Distributed.all_reduce.0.forward"]
    assert any(reason.startswith("the same is true of 1 more") for reason in mixed[0].reasons)


def test_replicas_of_two_modules_are_one(sound: Path, tmp_path: Path) -> None:
    (only,) = _found(_recorded(tmp_path / "run", "replicas"), sound, tmp_path / "out")
    assert only.node == "Module.module.0.Linear.forward.0"
    assert "the same is true of 1 more: 2.weight" in only.reasons


def test_a_parameter_that_all_ranks_have_otherwise_stands_for_itself(
    sound: Path, tmp_path: Path
) -> None:
    found = _found(_recorded(tmp_path / "run", "beside"), sound, tmp_path / "out")
    first = [each for each in found if each.step == 0]
    nodes = {"Module.module.0.Linear.forward.0": False, "Module.module.2.Linear.forward.0": True}
    assert {e.node: any("dp ranks" in r for r in e.reasons) for e in first} == nodes


def test_a_stage_that_holds_another_stages_layers_is_one(tmp_path: Path) -> None:
    for name, change in (("p", pp_stage_division), ("b", None)):
        record(PP, tmp_path / name, "statistics", 0, Size(), change)
    (only,) = _found(tmp_path / "p" / "dump", tmp_path / "b" / "dump", tmp_path / "out")
    assert only.ranks == (1,)
    assert any("which lies on another stage" in reason for reason in only.reasons)
    assert sum("before the step computes anything" in reason for reason in only.reasons) == 1
