"""Gradients that are averaged one by one, or in one flat tensor, come to the same update."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import builder
from builder.work.options import BuildOptions
from msprobe_core import PrecisionDebugger, seed_all

PARTS, WIDTH = 4, 12
Average = Callable[[list[nn.Parameter]], None]


def one_by_one(weights: list[nn.Parameter]) -> None:
    for weight in weights:
        assert weight.grad is not None
        weight.grad /= PARTS


def flat(weights: list[nn.Parameter]) -> None:
    _scatter(weights, _gathered(weights) / PARTS)


def flat_and_too_large(weights: list[nn.Parameter]) -> None:
    _scatter(weights, _gathered(weights) / (PARTS - 1))


def flat_but_the_last(weights: list[nn.Parameter]) -> None:
    last = weights[-1].grad
    assert last is not None
    kept = last.clone()
    flat(weights)
    last.copy_(kept)


def _gathered(weights: list[nn.Parameter]) -> torch.Tensor:
    return torch.cat([weight.grad.flatten() for weight in weights if weight.grad is not None])


def _scatter(weights: list[nn.Parameter], bucket: torch.Tensor) -> None:
    for weight, part in zip(weights, bucket.split([each.numel() for each in weights]), strict=True):
        assert weight.grad is not None
        weight.grad.copy_(part.view_as(weight))


def told(tmp_path: Path, average: Average, rate: float) -> list[bool]:
    """Of each finding whether it heals."""
    for name, way in (("theirs", one_by_one), ("ours", average)):
        seed_all()
        model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=rate, foreach=False)
        debugger = PrecisionDebugger(level="mix", dump_path=str(tmp_path / name))
        for _ in range(2):
            with debugger.recording(model):
                optimizer.zero_grad()
                model(torch.randn(6, WIDTH)).square().sum().backward()
                way(list(model.parameters()))
                optimizer.step()
        debugger.close()
    options = BuildOptions(workers=1)
    made = builder.build(tmp_path / "ours", tmp_path / "theirs", tmp_path / "o", options)
    return [finding.heals for finding in made.findings]


def test_one_flat_tensor_is_another_way_to_the_same_update(tmp_path: Path) -> None:
    assert all(told(tmp_path, flat, 1e-2))


@pytest.mark.parametrize("rate", [1e-2, 1e-7])
@pytest.mark.parametrize("fault", [flat_and_too_large, flat_but_the_last])
def test_other_gradients_are_none_however_small_the_step(
    fault: Average, rate: float, tmp_path: Path
) -> None:
    assert not all(told(tmp_path, fault, rate) or [True])
