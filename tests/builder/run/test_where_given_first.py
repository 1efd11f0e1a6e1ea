"""Another argument is named where the step gives it first, though its effect shows later."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

import builder
from builder.reasons import ArgumentDiffers, Explained
from builder.reasons.sentences import sentences
from builder.run.build import BuildResult
from msprobe_core import PrecisionDebugger

WIDTH = 8


class Normed(nn.Module):
    """Trains a norm on one batch, and reads its running statistics for another."""

    def __init__(self, momentum: float) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.put, self.norm = nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH, momentum=momentum)

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.norm(self.put(x)))


def record(path: Path, momentum: float) -> None:
    model = Normed(momentum)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    with debugger.recording(model):
        model(torch.randn(32, WIDTH)).square().mean().backward()
        model.eval()
        with torch.no_grad():
            model(torch.randn(32, WIDTH) * 3)
    debugger.close()


def compare(tmp_path: Path, momentum: float) -> BuildResult:
    for side, own in (("problem", momentum), ("benchmark", 0.1)):
        torch.manual_seed(1)
        record(tmp_path / side, own)
    return builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o")


def test_the_first_call_that_is_given_it_is_named(tmp_path: Path) -> None:
    (finding,) = compare(tmp_path, 0.9).findings
    assert finding.name == "Functional.batch_norm.0.forward"
    assert [place.name for place in finding.places] == ["Functional.batch_norm.1.forward"]
    told, *more = finding.reasons
    assert isinstance(told, ArgumentDiffers)
    assert told.argument == "momentum"
    (seen,) = [reason for reason in more if isinstance(reason, Explained)]
    assert (seen.at, seen.argument) == ("Functional.batch_norm.1.forward", "running_mean")


def test_the_argument_is_told_by_its_name(tmp_path: Path) -> None:
    (finding,) = compare(tmp_path, 0.9).findings
    words = sentences(finding.reasons)
    assert words[0].startswith("the argument momentum (input.6) is 0.9 here and 0.1 in")
    assert words[1].startswith("running_mean (input.1) of Functional.batch_norm.1.forward is ")


def test_an_equal_argument_is_no_finding(tmp_path: Path) -> None:
    assert compare(tmp_path, 0.1).findings == ()
