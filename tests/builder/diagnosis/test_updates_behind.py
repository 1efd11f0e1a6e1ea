"""Faults behind the backward pass are named behind one of the model that all gradients show."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.reasons import ArgumentDiffers
from msprobe.pytorch import PrecisionDebugger


class Faults(NamedTuple):
    scale: float = 1.0  # of what the model puts out
    clip_each: bool = False
    begin: float = 0.1  # of Adagrad's sums of squares
    skips: bool = False  # a branch, whose parameters then have no gradient
    freezes: bool = False  # a layer


class _Net(nn.Module):
    def __init__(self, faults: Faults) -> None:
        super().__init__()
        self.up, self.down, self.branch = nn.Linear(6, 12), nn.Linear(12, 3), nn.Linear(12, 3)
        self.up.requires_grad_(not faults.freezes)
        self.skips = faults.skips

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.tanh(self.up(x))
        return self.down(hidden) + (0.0 if self.skips else self.branch(hidden))


def recorded(folder: Path, faults: Faults) -> Path:
    torch.manual_seed(0)
    model = _Net(faults)
    optimizer = torch.optim.Adagrad(
        model.parameters(), lr=0.02, initial_accumulator_value=faults.begin, foreach=False
    )
    debugger = PrecisionDebugger(dump_path=str(folder), level="mix")
    for step in range(2):
        x = torch.randn(8, 6, generator=torch.Generator().manual_seed(step))
        with debugger.recording(model):
            (model(x) * faults.scale).square().sum().backward()
            for parameters in (model.parameters(),) if not faults.clip_each else model.parameters():
                nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            optimizer.zero_grad()
    debugger.close()
    return folder


@pytest.mark.parametrize("fault", [Faults(skips=True), Faults(freezes=True)])
def test_what_has_no_gradient_is_not_missed_in_clipping(tmp_path: Path, fault: Faults) -> None:
    ours, theirs = recorded(tmp_path / "a", fault), recorded(tmp_path / "b", Faults())
    for at, pair in enumerate(((ours, theirs), (theirs, ours))):
        (only,) = builder.build(*pair, tmp_path / f"o{at}").findings
        assert "_foreach_norm" not in only.name


@pytest.mark.parametrize(
    ("faults", "call"),
    [
        (Faults(scale=1.1), None),  # alone: what follows of it in clipping and updates is none
        (Faults(scale=1.1, begin=0.0), "Tensor.addcmul_.0.forward"),
        (Faults(scale=1.1, clip_each=True), "Torch._foreach_norm.0.forward"),
    ],
)
def test_they_are_named_beside_it(tmp_path: Path, faults: Faults, call: str | None) -> None:
    ours, theirs = recorded(tmp_path / "a", faults), recorded(tmp_path / "b", Faults())
    built = builder.build(ours, theirs, tmp_path / "o")
    first, *others = built.findings
    told = builder.diagnose(built.path).findings
    assert {one.certainty and one.certainty.word for one in told} == {"certain"}
    assert first.name == "Tensor.__mul__.0.forward"
    assert [one.name for one in others] == ([] if call is None else [call])
    for reason in (one.reasons[0] for one in others):
        assert isinstance(reason, ArgumentDiffers)
        said = {"input.0": ("0", "0.1"), "len(input.0)": ("1", "6")}[reason.value]
        assert (reason.problem, reason.benchmark) == said
