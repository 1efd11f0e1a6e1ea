"""Calls in another order are told as such, and batches of another size."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import builder
from builder.reasons import (
    BatchDiffers,
    BatchRows,
    BatchShaped,
    CalledEarlier,
    CalledLater,
    ExtraCalls,
)
from builder.work.outcome import StoredFinding
from msprobe.pytorch import PrecisionDebugger
from tests.builder.diagnosis.recorded_programs import found, same


class _Early(nn.Module):
    """Adds a condition to what an activation puts out, or activates the sum."""

    def __init__(self, order: object = same) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16)
        self.activates_first = order is not same

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        if self.activates_first:
            return torch.Tensor(self.second(functional.silu(hidden) + x))
        return torch.Tensor(self.second(functional.silu(hidden + x)))


class _Late(_Early):
    """Activates before two calls or behind them."""

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        if self.activates_first:
            return torch.Tensor(self.second(functional.silu(torch.tanh(torch.sin(hidden)))))
        return torch.Tensor(self.second(torch.tanh(torch.sin(functional.silu(hidden)))))


class _Twice(_Early):
    """Activates before the sum and behind it."""

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        added = (functional.silu(hidden) if self.activates_first else hidden) + x
        return torch.Tensor(self.second(functional.silu(added)))


def test_a_call_that_comes_earlier_is_not_called_by_one_run_alone(tmp_path: Path) -> None:
    (cause,) = found(tmp_path, _Early, order=torch.neg)
    assert cause.reasons[0] == CalledEarlier(
        "Functional.silu.0.forward", "Tensor.__add__.0.forward"
    )
    assert cause.name == "Functional.silu.0.forward"


def test_a_call_that_comes_later_is_not_called_by_one_run_alone(tmp_path: Path) -> None:
    (cause,) = found(tmp_path, _Late, order=torch.neg)
    assert cause.reasons[0] == CalledLater("Functional.silu.0.forward", "Torch.sin.0.forward")


def test_a_second_call_of_the_kind_is_still_one_that_one_run_alone_makes(tmp_path: Path) -> None:
    (cause,) = found(tmp_path, _Twice, order=torch.neg)
    assert isinstance(cause.reasons[0], ExtraCalls)


@pytest.mark.parametrize("level", ["L0", "L1"])
@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ((20, 1, 8, 8), BatchRows("input.0", 20, 16)),
        ((16, 1, 8, 9), BatchShaped("input.0", "[16, 1, 8, 9]", "[16, 1, 8, 8]")),
    ],
)
def test_data_of_another_size_are_told_by_their_size(
    tmp_path: Path, level: str, size: tuple[int, ...], reason: BatchRows | BatchShaped
) -> None:
    assert _fed(tmp_path, level, size)[0].reasons[0] == reason


def test_other_data_of_the_same_size_are_told_by_their_score(tmp_path: Path) -> None:
    assert isinstance(_fed(tmp_path, "L1", (16, 1, 8, 8), 3.0)[0].reasons[0], BatchDiffers)


def test_labels_of_a_larger_batch_are_the_same_batch(tmp_path: Path) -> None:
    sides = tmp_path / "problem", tmp_path / "benchmark"
    for path, rows in zip(sides, (20, 16), strict=True):
        torch.manual_seed(0)
        model, data, labels = nn.Linear(8, 3), torch.randn(20, 8), torch.arange(20) * 7
        debugger = PrecisionDebugger(level="mix", dump_path=str(path))
        batch, marks = data[:rows], labels[:rows]
        with debugger.recording(model):
            functional.cross_entropy(model(batch), marks % 3).backward()
        debugger.close()
    (cause,) = builder.build(*sides, tmp_path / "o").findings
    assert cause.reasons[0] == BatchRows("input.0", 20, 16)


def _fed(
    tmp_path: Path, level: str, size: tuple[int, ...], factor: float = 1.0
) -> tuple[StoredFinding, ...]:
    sides = tmp_path / "problem", tmp_path / "benchmark"
    for path, shape, times in zip(sides, (size, (16, 1, 8, 8)), (factor, 1.0), strict=True):
        torch.manual_seed(0)
        model, batch = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU()), times * torch.randn(shape)
        debugger = PrecisionDebugger(level=level, dump_path=str(path))
        with debugger.recording(model):
            model(batch)
        debugger.close()
    return builder.build(*sides, tmp_path / "o").findings
