"""Gradients that one run alone cuts off, where a dump has no modules or no calls to show it by."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import builder
from builder.reasons import ExtraCalls
from builder.work.outcome import StoredFinding
from msprobe.pytorch import PrecisionDebugger
from tests.builder.diagnosis.recorded_programs import Change, names, same

Level = Literal["L0", "L1", "mix"]


class _Siamese(nn.Module):
    """Two views go through one encoder; what stands in `target` is done to the second."""

    def __init__(self, target: Change = same, between: Change = same) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
        self.predictor = nn.Linear(16, 16)
        self.target, self.between = target, between

    def forward(self, x: Tensor) -> Tensor:
        target = self.target(self.encoder(x.flip(0)))
        predicted = self.predictor(self.between(self.encoder(x)))
        return functional.cosine_similarity(predicted, target).mean()


def cut_off(x: Tensor) -> Tensor:
    return x.detach()


def _found(tmp_path: Path, level: Level, ours: Change, theirs: Change) -> tuple[StoredFinding, ...]:
    sides = tmp_path / "problem", tmp_path / "benchmark"
    for path, target in zip(sides, (ours, theirs), strict=True):
        torch.manual_seed(0)
        model, x = _Siamese(target), torch.randn(32, 16)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, foreach=False)
        debugger = PrecisionDebugger(level=level, dump_path=str(path))
        with debugger.recording(model):
            model(x).backward()
            optimizer.step()
        debugger.close()
    return builder.build(*sides, tmp_path / "o").findings


@pytest.mark.parametrize("level", ["L1", "mix"])
@pytest.mark.parametrize("extra", [True, False])
def test_a_cut_of_one_of_two_ways_is_named_and_not_the_sums(
    tmp_path: Path, level: Level, extra: bool
) -> None:
    changes = (cut_off, same) if extra else (same, cut_off)
    assert names(_found(tmp_path, level, *changes)) == ["Tensor.detach.0.forward"]


def test_without_calls_the_way_back_that_one_run_alone_goes_is_named(tmp_path: Path) -> None:
    (cause,) = _found(tmp_path, "L0", same, cut_off)
    assert cause.name.startswith("Module.encoder.Sequential.backward.")
    assert cause.reasons[0] == ExtraCalls("Module.encoder.Sequential.backward.0")


@pytest.mark.parametrize("level", ["L0", "L1"])
def test_a_cut_behind_which_nothing_is_trained_is_named(tmp_path: Path, level: Level) -> None:
    def run(path: Path, change: Change) -> Path:
        torch.manual_seed(0)
        first, second, x = nn.Linear(16, 16), nn.Linear(16, 16), torch.randn(32, 16)
        debugger = PrecisionDebugger(level=level, dump_path=str(path))
        model = nn.ModuleDict({"first": first, "second": second})
        with debugger.recording(model):
            second(change(first(x).tanh())).square().sum().backward()
        debugger.close()
        return path

    sides = run(tmp_path / "problem", cut_off), run(tmp_path / "benchmark", same)
    (cause,) = builder.build(*sides, tmp_path / "o").findings
    named = {"L0": "Module.second.Linear.forward.0", "L1": "Tensor.detach.0.forward"}
    assert cause.name == named[level] and not cause.heals


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_activation_checkpointing_is_no_lost_gradient(
    tmp_path: Path, level: Level, reentrant: bool
) -> None:
    def run(path: Path, *, saves: bool) -> Path:
        torch.manual_seed(0)
        model, x = (
            nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 16)),
            torch.randn(8, 16),
        )
        x.requires_grad_()
        debugger = PrecisionDebugger(level=level, dump_path=str(path))
        calls = partial(checkpoint, model, use_reentrant=reentrant) if saves else model
        with debugger.recording(model):
            calls(x).square().sum().backward()
        debugger.close()
        return path

    sides = run(tmp_path / "problem", saves=True), run(tmp_path / "benchmark", saves=False)
    assert builder.build(*sides, tmp_path / "o").findings == ()


def test_a_conversion_to_the_format_of_a_value_is_gone_back_through_by_one_run_alone(
    tmp_path: Path,
) -> None:
    """As of a model in bfloat16 whose loss is computed in float32, against one in float32."""

    def run(path: Path, dtype: torch.dtype) -> Path:
        torch.manual_seed(0)
        model, x = nn.Linear(16, 16), torch.randn(32, 16)
        debugger = PrecisionDebugger(level="L1", dump_path=str(path))
        with debugger.recording(model.to(dtype)):
            model(x.to(dtype)).float().square().sum().backward()
        debugger.close()
        return path

    sides = run(tmp_path / "problem", torch.bfloat16), run(tmp_path / "benchmark", torch.float32)
    found = builder.build(*sides, tmp_path / "o").findings
    assert not any("backward" in finding.name for finding in found)


class _Physics(nn.Module):
    """Its loss is made of its own derivative, through which it goes back once more."""

    def __init__(self, advected: Change) -> None:
        super().__init__()
        self.first, self.second, self.out = nn.Linear(1, 16), nn.Linear(16, 16), nn.Linear(16, 1)
        self.advected = advected

    def forward(self, x: Tensor) -> Tensor:
        u = self.out(torch.tanh(self.second(torch.tanh(self.first(x)))))
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        return (self.advected(u) * slope - 0.1 * slope.square()).square().mean()


@pytest.mark.parametrize("change", [same, cut_off])
def test_a_cut_before_a_derivative_is_named_and_not_the_layers_behind(
    tmp_path: Path, change: Change
) -> None:
    sides = tmp_path / "problem", tmp_path / "benchmark"
    for path, advected in zip(sides, (change, same), strict=True):
        torch.manual_seed(0)
        model, x = _Physics(advected), torch.rand(20, 1).requires_grad_()
        with PrecisionDebugger(level="mix", dump_path=str(path)).recording(model):
            model(x).backward()
    found = builder.build(*sides, tmp_path / "o").findings
    expected = [] if change is same else ["Tensor.detach.0.forward", "Tensor.__mul__.0.forward"]
    assert [one.name in expected for one in found] == [True] * min(1, len(expected))
