"""A module that one run trains and the other evaluates is told so, where that matters."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from msgspec import UNSET
from torch import Tensor, nn

import builder
from builder.reasons import ArgumentDiffers, Introduced, ModeDiffers
from builder.work.outcome import StoredFinding
from msprobe_core import PrecisionDebugger


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(width, width), nn.BatchNorm1d(width)
        self.drop = nn.Dropout(0.2)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.drop(torch.relu(self.norm(self.linear(x))))
        return x + y


def block_net() -> nn.Module:
    return nn.Sequential(*(Block(8) for _ in range(3)), nn.Linear(8, 2))


def plain_net() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2))


def record(
    path: Path, make: Callable[[], nn.Module], level: str, evaluated: Callable[[str], bool]
) -> Path:
    torch.manual_seed(0)
    net = make()
    for name, module in net.named_modules():
        if evaluated(name):
            module.training = False
    debugger = PrecisionDebugger(level=level, dump_path=str(path))
    with debugger.recording(net):
        torch.manual_seed(1)
        net(torch.randn(16, 8)).square().mean().backward()
    debugger.close()
    return path


def found(problem: Path, benchmark: Path, out: Path) -> tuple[StoredFinding, ...]:
    return builder.build(problem, benchmark, out).findings


def everything(_: str) -> bool:
    return True


def nothing(_: str) -> bool:
    return False


@pytest.mark.parametrize("trains", [True, False])
def test_modules_alone_name_the_mode(tmp_path: Path, trains: bool) -> None:
    sides = (nothing, everything) if trains else (everything, nothing)
    ours, theirs = (
        record(tmp_path / side, block_net, "L0", evaluated)
        for side, evaluated in zip(("p", "b"), sides, strict=True)
    )
    first, *others = found(ours, theirs, tmp_path / "o")
    assert first.name == "Module.0.norm.BatchNorm1d.forward.0"
    assert first.kind == "argument_differs"
    assert first.reasons[0] == ModeDiffers(first.name, UNSET if trains else "evaluation")
    assert others == []


def test_one_layer_that_is_frozen_is_the_one(tmp_path: Path) -> None:
    ours = record(tmp_path / "p", block_net, "L0", lambda name: name == "1.norm")
    theirs = record(tmp_path / "b", block_net, "L0", nothing)
    (first,) = found(ours, theirs, tmp_path / "o")
    assert first.name == "Module.1.norm.BatchNorm1d.forward.0"
    assert first.reasons[0] == ModeDiffers(first.name, "evaluation")


def test_a_call_that_is_told_has_the_mode_of_its_module_beside(tmp_path: Path) -> None:
    ours = record(tmp_path / "p", block_net, "mix", nothing)
    theirs = record(tmp_path / "b", block_net, "mix", everything)
    first, *others = found(ours, theirs, tmp_path / "o")
    assert first.name == "Functional.batch_norm.0.forward"
    assert isinstance(first.reasons[0], ArgumentDiffers)
    assert ModeDiffers("Module.0.norm.BatchNorm1d.forward.0") in first.reasons
    assert others == []


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_a_mode_without_effect_is_nothing(tmp_path: Path, level: str) -> None:
    ours = record(tmp_path / "p", plain_net, level, everything)
    theirs = record(tmp_path / "b", plain_net, level, nothing)
    assert found(ours, theirs, tmp_path / "o") == ()


def test_without_modes_nothing_is_said_of_them(tmp_path: Path) -> None:
    ours = record(tmp_path / "p", block_net, "L0", everything)
    theirs = record(tmp_path / "b", block_net, "L0", nothing)
    for file in ours.rglob("dump.json"):
        content = json.loads(file.read_text(encoding="utf-8"))
        del content["modes"]
        file.write_text(json.dumps(content), encoding="utf-8")
    first, *_ = found(ours, theirs, tmp_path / "o")
    assert first.name == "Module.0.norm.BatchNorm1d.forward.0"
    assert isinstance(first.reasons[0], Introduced)
