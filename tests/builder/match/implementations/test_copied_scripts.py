"""A script and its copy are one program, though they are two files, where calls alone are known."""

from __future__ import annotations

import runpy
from pathlib import Path

import builder
from builder.reasons import OneProgram, sentence
from builder.results.database import ResultDatabase

SCRIPT = """
import torch
from torch.nn import functional as F
from msprobe.pytorch import PrecisionDebugger

torch.manual_seed(0)


class Towers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)
        self.norms = torch.nn.Sequential(*(torch.nn.LayerNorm(16) for _ in range(6)))

    def forward(self, x, y):
        x = F.normalize(self.norms(self.left(x)), dim=1)
        y = F.normalize(torch.tanh(self.right(y)), dim=DIM)
        return F.cross_entropy(x @ y.T / 0.1, torch.arange(len(x)))


model = Towers()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
debugger = PrecisionDebugger(dump_path=PATH, level="L1", task="statistics")
for _ in range(STEPS):
    with debugger.recording(model):
        model(torch.randn(16, 16), torch.randn(16, 16)).backward()
        optimizer.step()
debugger.close()
"""


def recorded(folder: Path, name: str, dim: int, steps: int = 1) -> Path:
    script, dump = folder / f"{name}.py", folder / f"dump-{name}"
    script.write_text(
        f"PATH, DIM, STEPS = {str(dump)!r}, {dim}, {steps}\n{SCRIPT}", encoding="utf-8"
    )
    runpy.run_path(str(script))
    return dump


def test_a_copy_with_another_argument_is_compared_call_by_call(tmp_path: Path) -> None:
    ours, theirs = recorded(tmp_path, "problem", 0), recorded(tmp_path, "benchmark", 1)
    result = builder.build(ours, theirs, tmp_path / "o")
    assert isinstance(ResultDatabase(result.path).summary().kind, OneProgram)
    (found,) = result.findings
    assert found.name == "Functional.normalize.1.forward"
    assert found.kind == "argument_differs"


def test_weights_that_were_updated_otherwise_make_no_second_program(tmp_path: Path) -> None:
    """Adam's first step moves each element of a norm by one amount: norms are alike by chance."""
    ours = recorded(tmp_path, "problem", 0, steps=3)
    theirs = recorded(tmp_path, "benchmark", 1, steps=3)
    result = builder.build(ours, theirs, tmp_path / "o")
    assert [outcome.unlike_programs for outcome in result.outcomes] == [None] * 3


def test_weights_of_calls_are_counted_once_and_without_what_the_optimizer_reads(
    tmp_path: Path,
) -> None:
    ours, theirs = recorded(tmp_path, "problem", 0), recorded(tmp_path, "benchmark", 1)
    options = builder.BuildOptions(same="model", workers=1)
    result = builder.build(ours, theirs, tmp_path / "o", options)
    told = result.outcomes[0].unlike_programs
    assert told is not None
    assert (told.found, told.weights) == (16, 16)  # two layers and six norms, each with a bias
    assert " calls correspond and are compared, with what they read" in sentence(told)


def test_a_finding_of_a_call_of_two_programs_speaks_of_no_module(tmp_path: Path) -> None:
    ours, theirs = recorded(tmp_path, "problem", 0), recorded(tmp_path, "benchmark", 1)
    options = builder.BuildOptions(same="model", workers=1)
    first = builder.build(ours, theirs, tmp_path / "o", options).findings[0]
    assert first.is_api
    assert first.basis == "paired_calls"
