"""A value of which one run alone wants a gradient is a cause of its own.

It stands behind what changes the numbers of the forward pass, for it changes none of those.
"""

from __future__ import annotations

import copy
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import builder
from builder.reasons import AttributeDiffers, MissingCalls
from builder.work.outcome import StoredFinding
from msprobe_core import PrecisionDebugger


class Learner:
    """Learns values by what a copy of its net says of the state behind, where that is not final."""

    def __init__(self, *, frozen: bool, final: bool) -> None:
        net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
        actor = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        nets = {"net": net, "actor": actor, "target": copy.deepcopy(net)}
        self.nets = nn.ModuleDict(nets)
        self.frozen, self.final = frozen, final
        trained = [*net.parameters(), *actor.parameters()]
        self.optimizer = torch.optim.Adam(trained, lr=1e-2, foreach=False)

    def behind(self, state: Tensor, done: Tensor) -> Tensor:
        with torch.no_grad() if self.frozen else nullcontext():
            action = self.nets["actor"](state)
            value: Tensor = self.nets["target"](torch.cat([state, action], -1))
            left = 1 - done if self.final else done
            return 0.9 * left * value.squeeze(-1)

    def learn(self, state: Tensor, action: Tensor, done: Tensor) -> None:
        target = self.behind(state + 0.1, done)
        value = self.nets["net"](torch.cat([state, action], -1)).squeeze(-1)
        loss = F.mse_loss(value, target)
        loss = loss - self.nets["net"](torch.cat([state, self.nets["actor"](state)], -1)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def found(tmp_path: Path, *, frozen: bool, final: bool) -> tuple[StoredFinding, ...]:
    for name, own in (("problem", (frozen, final)), ("benchmark", (True, True))):
        torch.manual_seed(0)
        learner = Learner(frozen=own[0], final=own[1])
        debugger = PrecisionDebugger(level="mix", dump_path=str(tmp_path / name))
        for _ in range(2):
            data = torch.randn(16, 4), torch.randn(16, 2), (torch.rand(16) < 0.4).float()
            with debugger.recording(learner.nets):
                learner.learn(*data)
        debugger.close()
    return builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o").findings


def test_it_is_named_beside_another_fault(tmp_path: Path) -> None:
    bootstrap, wanted = found(tmp_path, frozen=False, final=False)
    assert isinstance(wanted.reasons[0], AttributeDiffers)
    assert wanted.reasons[0].attribute == "requires_grad"
    assert wanted.name == "Functional.linear.0.forward"
    assert isinstance(bootstrap.reasons[0], MissingCalls)
    assert bootstrap.reasons[0].names == "Tensor.__rsub__.0.forward"
    assert bootstrap.stands_alone


@pytest.mark.parametrize(
    ("frozen", "final", "told"), [(False, True, AttributeDiffers), (True, False, MissingCalls)]
)
def test_each_fault_alone_is_one_cause(
    tmp_path: Path, frozen: bool, final: bool, told: type[object]
) -> None:
    (finding,) = found(tmp_path, frozen=frozen, final=final)
    assert isinstance(finding.reasons[0], told)
