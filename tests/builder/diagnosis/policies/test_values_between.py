"""What one run alone does to a value on its way, in a coarse format: as merged runs are judged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.diagnosis.blame import walk_by_scores
from msprobe.pytorch import PrecisionDebugger


class Layer(nn.Module):
    """A residual layer that puts out what its last addition makes, but for a fault at the `end`."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(64), nn.Linear(64, 64)

    def end(self, x: Tensor) -> Tensor:
        return x

    def forward(self, x: Tensor) -> Tensor:
        return self.end(x + torch.tanh(self.linear(self.norm(x))))


class Net(nn.Module):
    """Two layers; what a subclass does at the end of the first or behind it, one run does alone."""

    def __init__(self, wrong: bool) -> None:
        super().__init__()
        self.first, self.second, self.head = Layer(), Layer(), nn.Linear(64, 8)
        self.wrong = wrong
        if wrong:
            self.first.end = self.at_the_end  # type: ignore[method-assign]  # the fault

    def at_the_end(self, x: Tensor) -> Tensor:
        return x

    def between(self, x: Tensor) -> Tensor:
        return x

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = self.between(x) if self.wrong else x
        return self.head(self.second(x))  # type: ignore[no-any-return]  # torch's modules return anything


class RoundedAtTheEnd(Net):
    def at_the_end(self, x: Tensor) -> Tensor:
        return x.to(torch.float8_e5m2).to(x.dtype)


class RoundedBetween(Net):
    def between(self, x: Tensor) -> Tensor:
        return x.to(torch.float8_e5m2).to(x.dtype)


class ScaledAtTheEnd(Net):
    def at_the_end(self, x: Tensor) -> Tensor:
        return x * 1.06


class ScaledBetween(Net):
    def between(self, x: Tensor) -> Tensor:
        return x * 1.06


class Bounded(Net):
    def between(self, x: Tensor) -> Tensor:
        return x.clamp(-1.8, 1.8)


class FinerAndBack(Net):
    def at_the_end(self, x: Tensor) -> Tensor:
        return x.float().to(x.dtype)

    def between(self, x: Tensor) -> Tensor:
        return x.double().to(x.dtype)


class OneDigitLess(Net):
    """As a sum that is rounded once more: an error of no more than the format's own."""

    def between(self, x: Tensor) -> Tensor:
        return (x * 3.0) / 3.0


class TurnedTwice(Net):
    def at_the_end(self, x: Tensor) -> Tensor:
        return x.neg().neg()


def findings(path: Path, program: type[Net], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names found by scores where elements were seen, as in runs that were merged."""
    monkeypatch.setattr("builder.work.pair.walk", walk_by_scores)
    sides = []
    for wrong in (True, False):
        torch.manual_seed(0)
        model = program(wrong).to(torch.bfloat16)
        debugger = PrecisionDebugger(level="mix", task="tensor", dump_path=str(path / str(wrong)))
        with debugger.recording(model):
            model(torch.randn(32, 64, dtype=torch.bfloat16)).square().mean().backward()
        debugger.close()
        sides.append(path / str(wrong))
    return [found.name for found in builder.build(sides[0], sides[1], path / "out").findings]


@pytest.mark.parametrize(
    ("program", "call"),
    [
        (RoundedAtTheEnd, "Tensor.to."),
        (RoundedBetween, "Tensor.to."),
        (ScaledAtTheEnd, "Tensor.__mul__."),
        (ScaledBetween, "Tensor.__mul__."),
        (Bounded, "Tensor.clamp."),
    ],
)
def test_a_call_of_one_run_that_changes_a_value_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: type[Net], call: str
) -> None:
    (found,) = findings(tmp_path, program, monkeypatch)
    assert found.startswith(call)


@pytest.mark.parametrize("program", [FinerAndBack, OneDigitLess, TurnedTwice])
def test_a_call_of_one_run_that_leaves_a_value_as_it_is_rounded_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: type[Net]
) -> None:
    assert findings(tmp_path, program, monkeypatch) == []
