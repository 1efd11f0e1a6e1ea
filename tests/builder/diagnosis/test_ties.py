"""Where rounding decides which experts a token goes to, both runs are right: one note says so."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

import builder
from builder.reasons import Ties
from builder.run.build import BuildResult
from msprobe_core import PrecisionDebugger
from tests.told import facts

EXPERTS, WIDTH = 4, 16


class Experts(nn.Module):
    """Two of four experts for each token, one after the other, as transformers runs them."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.randn(EXPERTS, 2 * WIDTH, WIDTH) / 4)
        self.down = nn.Parameter(torch.randn(EXPERTS, WIDTH, WIDTH) / 4)
        self.act = nn.SiLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = torch.topk(torch.softmax(self.gate(x), dim=-1), 2, dim=-1)
        with torch.no_grad():
            mask = nn.functional.one_hot(chosen, num_classes=EXPERTS).permute(2, 1, 0)
        out = torch.zeros_like(x)
        for expert in range(EXPERTS):
            place, token = torch.where(mask[expert])
            gate, up = nn.functional.linear(x[token], self.up[expert]).chunk(2, dim=-1)
            state = nn.functional.linear(self.act(gate) * up, self.down[expert])
            out.index_add_(0, token, state * weights[token, place, None])
        return out


class Model(nn.Module):
    def __init__(self, wrong: float) -> None:
        super().__init__()
        self.experts, self.head, self.wrong = Experts(), nn.Linear(WIDTH, 8), wrong

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x + self.experts(x) * 0.05) * self.wrong


def record(path: Path, moved: float, wrong: float = 1.0) -> None:
    torch.manual_seed(0)
    model = Model(wrong)
    with torch.no_grad():  # two experts that are as good as each other
        model.experts.gate.weight[1] = model.experts.gate.weight[0] * (1 + moved)
    x = torch.randn(64, WIDTH)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    with debugger.recording(model):
        model(x).square().mean().backward()
    debugger.close()


def compare(tmp_path: Path, wrong: float = 1.0) -> BuildResult:
    record(tmp_path / "problem", 3e-7, wrong)
    record(tmp_path / "benchmark", -3e-7)
    return builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o")


def test_ties_are_said_and_are_no_finding(tmp_path: Path) -> None:
    result = compare(tmp_path)
    assert [finding.name for finding in result.findings] == []
    said = [reason for reason in result.summary if facts(reason)["code"] == "ties"]
    assert said == [Ties("Torch.topk.0.forward", count=1, step=0, rank=0)]


def test_a_fault_behind_a_tie_is_named(tmp_path: Path) -> None:
    result = compare(tmp_path, wrong=1.5)
    assert [finding.name for finding in result.findings] == ["Tensor.__mul__.9.forward"]


def test_equal_runs_have_no_note(tmp_path: Path) -> None:
    for side in ("problem", "benchmark"):
        record(tmp_path / side, 3e-7)
    result = builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o")
    assert (result.findings, list(result.summary)) == ((), [])


def record_gate(path: Path, moved: float, scale: float = 1.0) -> None:
    """A pre-activation that is zero but for rounding, among nine thousand others."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    x = torch.randn(144, 64)
    with torch.no_grad():
        model[0].bias[0] = -(model[0].weight[0] @ x[0])
    model[1].register_full_backward_hook(lambda _, sent, __: (sent[0] * scale,))
    x *= 1 + moved
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    with debugger.recording(model):
        model(x).square().sum().backward()
    debugger.close()


def test_one_element_on_the_other_side_of_zero_is_no_finding(tmp_path: Path) -> None:
    record_gate(tmp_path / "problem", 2e-6)
    record_gate(tmp_path / "benchmark", -2e-6)
    result = builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o")
    assert [finding.name for finding in result.findings] == []


def test_a_gradient_that_is_wrong_beside_it_is_named(tmp_path: Path) -> None:
    record_gate(tmp_path / "problem", 2e-6, scale=0.9)
    record_gate(tmp_path / "benchmark", -2e-6)
    result = builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o")
    assert result.findings != ()
