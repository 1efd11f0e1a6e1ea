"""Where a router chooses between numbers nearer than the runs are apart, the margin is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import builder
from builder.reasons import AmplifiedAt, Amplifies, Ties, UntoldChoices
from builder.run.build import BuildResult
from builder.work.options import BuildOptions
from msprobe_core import PrecisionDebugger
from tests.builder.diagnosis.test_ties import WIDTH, Model

ROUTER = "Torch.topk.0.forward"


class Shifted(Model):
    """The same behind a call that may be wrong."""

    def __init__(self, shift: float) -> None:
        super().__init__(wrong=1.0)
        self.shift = shift

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x + self.shift)


def record(path: Path, moved: float, shift: float = 0.0, task: str = "tensor") -> None:
    """Two experts whose scores are all but equal; `moved` tells which is ahead."""
    torch.manual_seed(0)
    model = Shifted(shift)
    with torch.no_grad():
        if moved:
            model.experts.gate.weight[1] = model.experts.gate.weight[0] * (1 + moved)
    x = torch.randn(64, WIDTH)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path), task=task)
    with debugger.recording(model):
        model(x).square().mean().backward()
    debugger.close()


def compare(tmp_path: Path) -> BuildResult:
    return builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o")


def told(result: BuildResult) -> list[Amplifies]:
    return [reason for reason in result.summary if isinstance(reason, Amplifies)]


def saved(root: Path, side: str, name: str) -> torch.Tensor:
    (file,) = (root / side).rglob(f"{ROUTER}.{name}.pt")
    tensor: torch.Tensor = torch.load(file)
    return tensor


def test_rounding_that_a_router_amplifies_is_told_with_its_margin(tmp_path: Path) -> None:
    record(tmp_path / "problem", 3e-7)
    record(tmp_path / "benchmark", -3e-7)
    result = compare(tmp_path)
    assert result.findings == ()
    (note,) = told(result)
    ours, theirs = (saved(tmp_path, s, "output.1").sort(-1)[0] for s in ("problem", "benchmark"))
    rows = (ours != theirs).any(-1)
    assert (note.name, note.rows, note.of) == (ROUTER, int(rows.sum()), 64)
    assert 0 <= note.margin <= note.apart < 1e-6
    ranked = saved(tmp_path, "benchmark", "input.0")[rows].double()
    margins = ranked.topk(3)[0].diff(dim=-1)[:, 1].abs()  # the second chosen, the first left out
    assert min(abs(float(m) - note.margin) for m in margins) < 1e-12
    assert not any(isinstance(reason, Ties | UntoldChoices) for reason in result.summary)


def test_a_cause_before_it_is_told_apart_from_it(tmp_path: Path) -> None:
    record(tmp_path / "problem", 0.0, shift=0.02)
    record(tmp_path / "benchmark", 0.0)
    result = compare(tmp_path)
    assert result.findings[0].name == "Tensor.__add__.0.forward"
    (said,) = [r for r in result.findings[0].reasons if isinstance(r, AmplifiedAt)]
    (note,) = told(result)
    assert (said.name, said.margin, said.apart) == (ROUTER, note.margin, note.apart)
    assert said.margin <= said.apart
    worded = [line for f in builder.diagnose(result.path).findings for line in f.reasons]
    assert any(ROUTER in line and "amplifies" in line for line in worded)


def test_a_choice_that_its_numbers_do_not_explain_is_no_amplification(tmp_path: Path) -> None:
    for side in ("problem", "benchmark"):
        record(tmp_path / side, 3e-7)
    (file,) = (tmp_path / "problem").rglob(f"{ROUTER}.output.1.pt")
    chosen = saved(tmp_path, "problem", "output.1")
    left = torch.tensor([e for e in range(4) if e not in chosen[5].tolist()])
    chosen[5] = left
    torch.save(chosen, file)
    assert told(compare(tmp_path)) == []


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_equal_choices_and_numbers_that_were_not_kept_have_no_margin(
    tmp_path: Path, task: str
) -> None:
    record(tmp_path / "problem", 3e-7, task=task)
    record(tmp_path / "benchmark", 3e-7 if task == "tensor" else -3e-7, task=task)
    assert told(compare(tmp_path)) == []


class Routed(nn.Module):
    """Picks experts by scores, or by one of the monotone functions that programs make of them."""

    def __init__(self, name: str, by: str, moved: float) -> None:
        super().__init__()
        torch.manual_seed(3)
        gate = nn.Linear(WIDTH, 4, bias=False)
        self.add_module(f"{name}_gate", gate)
        self.add_module(f"{name}_out", nn.Linear(4, WIDTH))
        with torch.no_grad():
            gate.weight[1] = gate.weight[0] * (1 + moved)
        self.by = by

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, out = self.children()
        scores = gate(x)
        made = {"softmax": scores.softmax(-1), "sigmoid": scores.sigmoid(), "scores": scores}
        return out(scores.scatter(-1, torch.topk(made[self.by], 2, dim=-1)[1], 0.0))


@pytest.mark.parametrize("by", ["scores", "softmax", "sigmoid"])
def test_a_port_may_rank_scores_where_the_original_ranks_shares(tmp_path: Path, by: str) -> None:
    for side, name, ranked, moved in (
        ("problem", "port", "scores", 3e-7),
        ("benchmark", "own", by, -3e-7),
    ):
        torch.manual_seed(0)
        model, x = Routed(name, ranked, moved), torch.randn(64, WIDTH)
        path = str(tmp_path / side)
        with PrecisionDebugger(level="mix", dump_path=path, task="tensor").recording(model):
            model(x).square().mean().backward()
    result = builder.build(
        tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o", BuildOptions(same="model")
    )
    (note,) = told(result)
    assert 0 < note.rows < 64
    unit = {"scores": torch.clone, "sigmoid": torch.sigmoid}.get(by, lambda x: x.softmax(-1))
    ours = unit(saved(tmp_path, "problem", "input.0").double())
    theirs = saved(tmp_path, "benchmark", "input.0").double()
    picks = [saved(tmp_path, side, "output.1").sort(-1)[0] for side in ("problem", "benchmark")]
    expected = []
    for row in (picks[0] != picks[1]).any(-1).nonzero().flatten().tolist():
        gained, lost = (
            {*a.tolist()} - {*b.tolist()}
            for a, b in ((picks[0][row], picks[1][row]), (picks[1][row], picks[0][row]))
        )
        (new,), (old,) = gained, lost
        margin = float(theirs[row, old] - theirs[row, new])
        expected.append((margin, margin + float(ours[row, new] - ours[row, old])))
    assert note.rows == len(expected)
    assert min(abs(m - note.margin) + abs(a - note.apart) for m, a in expected) < 1e-12
