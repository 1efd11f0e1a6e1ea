"""What a step is fed may be what the step before left: then it is the consequence of its cause."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.reasons import BatchDiffers
from builder.run.order import order_findings
from builder.work.outcome import PairOutcome, StoredFinding
from msprobe_core import PrecisionDebugger
from tests.builder.run.test_order import FIRST, INHERITED, outcome

FED = replace(
    INHERITED, kind="input_differs", reasons=[BatchDiffers("input.0", 0.9)], inherits=frozenset("x")
)


class World:
    """Bodies that a policy pushes; where they are is what the policy sees next."""

    def __init__(self) -> None:
        self.at = torch.linspace(-1, 1, 32).view(16, 2)

    def see(self) -> Tensor:
        return torch.cat([self.at, self.at.square()], dim=-1)

    def push(self, force: Tensor) -> Tensor:
        self.at = 0.9 * self.at + 0.1 * force
        return self.see()


def run(path: Path, *, far: bool, moved: bool, level: str) -> Path:
    """Train a policy; `far` counts other distances, `moved` puts the bodies elsewhere."""
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.05)
    world, debugger = World(), PrecisionDebugger(level=level, dump_path=str(path))
    seen = world.see()
    for step in range(3):
        if moved and step == 2:
            seen = torch.roll(seen, 1, 0) + 0.5
        with debugger.recording(policy):
            force = policy(seen)
            later = world.push(force)
            loss = (later.abs() if far else later.square()).sum(-1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                policy(later)
        world.at, seen = world.at.detach(), later.detach()
    debugger.close()
    return path


def found(tmp_path: Path, level: str, *, moved: bool) -> tuple[StoredFinding, ...]:
    ours = run(tmp_path / "p", far=True, moved=moved, level=level)
    theirs = run(tmp_path / "b", far=False, moved=False, level=level)
    return builder.build(ours, theirs, tmp_path / "o").findings


def tells_of_data(finding: StoredFinding) -> bool:
    return isinstance(finding.reasons[0], BatchDiffers)


@pytest.mark.parametrize("level", ["L1", "mix"])
def test_a_world_that_the_model_has_moved_is_no_cause(tmp_path: Path, level: str) -> None:
    first, *others = found(tmp_path, level, moved=False)
    assert "abs" in first.name
    assert others == []


@pytest.mark.parametrize("level", ["L1", "mix"])
def test_data_that_nothing_left_behind_are_one(tmp_path: Path, level: str) -> None:
    findings = found(tmp_path, level, moved=True)
    assert [finding.step for finding in findings if tells_of_data(finding)] == [2]


def test_data_are_laid_to_the_step_that_put_them_out() -> None:
    left = replace(outcome(0, FIRST), handed=frozenset("xy"))
    (only,) = order_findings([left, outcome(1, FED)], [])
    assert only.propagated_to == FIRST.propagated_to + FED.propagated_to + 1
    for steps in ([outcome(0, FIRST), outcome(1, FED)], [outcome(0), outcome(1, FED)]):
        assert FED.step in {one.step for one in order_findings(steps, [])}


@pytest.mark.parametrize("alike", [True, False])
def test_weights_of_another_rank_are_laid_to_its_cause(alike: bool) -> None:
    """Where both ranks hold the same wrong weights, one step was made with the sum of both."""
    weight = replace(INHERITED, graph=2)
    here = replace(weight, rank=1, graph=3)
    if not alike:
        here = replace(here, inherits=frozenset([(2.0, 1.0, 1.5, 4.0)]))
    steps = [
        outcome(0, FIRST, tolerated=False),
        outcome(1, weight, tolerated=False),
        PairOutcome(0, 1),
        PairOutcome(1, 1, findings=(here,)),
    ]
    listed = order_findings(steps, [])
    assert [(one.rank, one.step) for one in listed] == ([(0, 0)] if alike else [(0, 0), (1, 1)])
    explained = FIRST.propagated_to + weight.propagated_to + 1
    assert listed[0].propagated_to == explained + (here.propagated_to + 1 if alike else 0)
