"""A loss that a model computes itself, of single numbers in another order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import builder
from msprobe.pytorch import PrecisionDebugger

WIDTH, PAIRS = 12, 6
Loss = Callable[[Tensor], Tensor]


def by_cross_entropy(scores: Tensor) -> Tensor:
    labels = torch.arange(PAIRS)
    return (F.cross_entropy(scores, labels) + F.cross_entropy(scores.T, labels)) / 2


def by_diagonals(scores: Tensor) -> Tensor:
    """The same, of means that are negated behind their sum."""
    rows, columns = (scores.log_softmax(dim).diagonal().mean() for dim in (1, 0))
    return -(rows + columns) / 2


def not_halved(scores: Tensor) -> Tensor:
    rows, columns = (scores.log_softmax(dim).diagonal().mean() for dim in (1, 0))
    return -(rows + columns)


class Towers(nn.Module):
    def __init__(self, loss: Loss) -> None:
        super().__init__()
        self.image, self.text, self.loss = nn.Linear(20, WIDTH), nn.Linear(8, WIDTH), loss

    def forward(self, image: Tensor, text: Tensor) -> Tensor:
        return self.loss((self.image(image) @ self.text(text).T).float())


class Encoders(nn.Module):
    def __init__(self, towers: Towers, loss: Loss) -> None:
        super().__init__()
        self.vision, self.language, self.loss = towers.image, towers.text, loss

    def forward(self, image: Tensor, text: Tensor) -> Tensor:
        return self.loss((self.vision(image) @ self.language(text).mT).float())


def named(tmp_path: Path, loss: Loss, dtype: torch.dtype) -> list[str]:
    torch.manual_seed(2)
    towers = Towers(by_cross_entropy).to(dtype)
    given = torch.randn(PAIRS, 20).to(dtype), torch.randn(PAIRS, 8).to(dtype)
    for name, model in (("theirs", towers), ("ours", Encoders(towers, loss))):
        debugger = PrecisionDebugger(dump_path=str(tmp_path / name), level="mix", step=[0])
        debugger.start(model=model)
        model(*given).backward()
        debugger.stop()
        debugger.step()
    options = builder.BuildOptions(same="model")
    found = builder.build(tmp_path / "ours", tmp_path / "theirs", tmp_path / "o", options).findings
    return [finding.name for finding in found]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_numbers_that_come_to_the_same_loss_begin_nothing(
    dtype: torch.dtype, tmp_path: Path
) -> None:
    assert named(tmp_path, by_diagonals, dtype) == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_another_loss_is_named_at_a_call_of_its_own(dtype: torch.dtype, tmp_path: Path) -> None:
    first, *_ = named(tmp_path, not_halved, dtype)
    assert first.split(".")[1] in {"log_softmax", "__add__", "diagonal", "mean"}
