"""What one run alone calls on a line is told as a whole, also around calls that both make."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.reasons import ExtraCalls, MissingCalls
from builder.work.outcome import StoredFinding
from msprobe_core import PrecisionDebugger

Lengths = Callable[[Tensor], Tensor]


def floored(lengths: Tensor) -> Tensor:
    return lengths // 2


def ceiled(lengths: Tensor) -> Tensor:
    return (lengths - 1) // 2 + 1


def ceiled_twice(lengths: Tensor) -> Tensor:
    for _ in range(2):
        lengths = (lengths - 1) // 2 + 1
    return lengths


def floored_twice(lengths: Tensor) -> Tensor:
    for _ in range(2):
        lengths = lengths // 2
    return lengths


class Masked(nn.Module):
    def __init__(self, reduced: Lengths) -> None:
        super().__init__()
        self.put, self.reduced = nn.Linear(8, 8), reduced

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        hidden = self.put(x)
        kept = torch.arange(hidden.shape[1])[None, :] < self.reduced(lengths)[:, None]
        return torch.as_tensor(hidden.masked_fill(~kept[..., None], 0.0).sum(1))


def found(tmp_path: Path, problem: Lengths, benchmark: Lengths) -> tuple[StoredFinding, ...]:
    for name, reduced in (("problem", problem), ("benchmark", benchmark)):
        torch.manual_seed(0)
        model = Masked(reduced)
        debugger = PrecisionDebugger(level="mix", dump_path=str(tmp_path / name))
        with debugger.recording(model):
            model(torch.randn(4, 8, 8), torch.tensor([9, 5, 13, 16])).square().mean().backward()
        debugger.close()
    return builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o").findings


@pytest.mark.parametrize(
    ("problem", "benchmark"),
    [(floored, ceiled), (ceiled, floored), (floored_twice, ceiled_twice)],
)
def test_both_calls_of_the_line_are_told(
    tmp_path: Path, problem: Lengths, benchmark: Lengths
) -> None:
    (finding,) = found(tmp_path, problem, benchmark)
    told = ExtraCalls if problem is ceiled else MissingCalls
    assert finding.reasons[0] == told("Tensor.__sub__.0.forward, Tensor.__add__.0.forward")
    turns = 2 if problem is floored_twice else 1
    assert len(finding.places) == 2 * turns - 1


def test_equal_lines_are_none(tmp_path: Path) -> None:
    assert found(tmp_path, ceiled_twice, ceiled_twice) == ()
