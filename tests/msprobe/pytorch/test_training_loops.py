"""GAN, policy gradient and accumulation: what is written of each step, against the loop's own.

Each loop is run once alone, telling its gradients, and once with each that may follow it.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from benchmarks.situations.followers import ByTrainerMon, ByTrainerMonitorV2
from benchmarks.situations.truth import Truth
from builder.series.run import TrendRun
from msprobe.pytorch import Trends
from msprobe_core import PrecisionDebugger

STEPS = 4
CLOSE = 1e-5
"""Relative: float32 sums of few elements, a clip factor that torch took in float32."""
Scalars = dict[tuple[str, str], float]


class Telling:
    """Is told of a loop while it runs; who follows it looks at its begin and its steps alone."""

    def begins(self, model: nn.Module, *optimizers: torch.optim.Optimizer) -> None:
        """The loop begins."""

    def step_begins(self) -> None:
        """A step begins."""

    def gradients(self, *parts: nn.Module) -> None:
        """Gradients of these parts are whole, and not clipped yet."""

    def clipped(self) -> None:
        """They are clipped."""

    def takes(self, number: int) -> None:
        """An optimizer is about to step."""

    def step_ends(self, loss: torch.Tensor) -> None:
        """A step is over."""


class Oracle(Telling):
    """The loop's own numbers, in float64: by step, before clipping and as optimizers take them."""

    def __init__(self) -> None:
        self.written: list[Scalars] = []
        self.taken: list[Truth] = []

    def begins(self, model: nn.Module, *optimizers: torch.optim.Optimizer) -> None:
        self._model, self._optimizers = model, optimizers
        self.taken = [Truth() for _ in optimizers]

    def step_begins(self) -> None:
        self.written.append({})

    def gradients(self, *parts: nn.Module) -> None:
        own = {id(p) for part in parts for p in part.parameters()}
        for name, p in self._model.named_parameters():
            if id(p) in own and p.grad is not None:
                self.written[-1]["grad", name] = float(p.grad.double().norm())

    def clipped(self) -> None:
        after = [p.grad.double().norm() for p in self._model.parameters() if p.grad is not None]
        self.written[-1]["clip", "clip"] = float(torch.stack(after).norm()) / self._total()

    def takes(self, number: int) -> None:
        optimizer, step = self._optimizers[number], len(self.written) - 1
        self.taken[number].take(step, self._model, optimizer)
        name = f"optimizer{number}.group0" if number else "group0"
        self.written[-1]["lr", name] = optimizer.param_groups[0]["lr"]

    def step_ends(self, loss: torch.Tensor) -> None:
        self.written[-1]["grad_norm", "grad_norm"] = self._total()
        self.written[-1]["loss", "loss"] = float(loss.detach().double())

    def _total(self) -> float:
        return sum(v**2 for (kind, _), v in self.written[-1].items() if kind == "grad") ** 0.5


class ByTrends(Telling):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begins(self, model: nn.Module, *optimizers: torch.optim.Optimizer) -> None:
        self.trends = Trends(self._folder, model, optimizers[0], alerts=False)
        for optimizer in optimizers[1:]:
            self.trends.add(optimizer)

    def step_ends(self, loss: torch.Tensor) -> None:
        self.trends.step(loss=loss)


class ByDumper(Telling):
    def __init__(self, folder: Path) -> None:
        self.debugger = PrecisionDebugger(dump_path=str(folder), level="mix")

    def begins(self, model: nn.Module, *optimizers: torch.optim.Optimizer) -> None:
        self._model = model

    def step_begins(self) -> None:
        self.debugger.start(model=self._model)

    def step_ends(self, loss: torch.Tensor) -> None:
        self.debugger.stop()
        self.debugger.step()


class ByMonitor(Telling):
    """A monitor follows one optimizer."""

    def __init__(self, monitor: ByTrainerMon, number: int) -> None:
        self._monitor, self._number = monitor, number

    def begins(self, model: nn.Module, *optimizers: torch.optim.Optimizer) -> None:
        self._monitor.begin(model, optimizers[self._number])


def accumulation(telling: Telling) -> None:
    """Three micro-batches a step, clipped, at a rate that falls."""
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    rates = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    telling.begins(net, optimizer)
    for step in range(STEPS):
        telling.step_begins()
        optimizer.zero_grad()
        total = torch.zeros(())
        for _ in range(3):
            loss = net(torch.randn(5, 4) * (step + 1)).square().mean() / 3
            loss.backward()
            total += loss.detach()
        telling.gradients(net)
        clip_grad_norm_(net.parameters(), 0.05)
        telling.clipped()
        telling.takes(0)
        optimizer.step()
        rates.step()
        telling.step_ends(total)


def adversaries(telling: Telling) -> None:
    """The critic steps first; the maker leaves gradients in it that nobody takes."""
    net = nn.ModuleDict(
        {"maker": nn.Linear(2, 4), "critic": nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))}
    )
    maker, critic = net["maker"], net["critic"]
    optimizers = (
        torch.optim.Adam(critic.parameters(), lr=0.01),
        torch.optim.RMSprop(maker.parameters(), lr=0.02),
    )
    telling.begins(net, *optimizers)
    for _ in range(STEPS):
        telling.step_begins()
        made, real = maker(torch.randn(6, 2)), torch.randn(6, 4)
        optimizers[0].zero_grad()
        wrong = critic(made.detach()).mean() - critic(real).mean()
        wrong.backward()
        telling.gradients(critic)
        telling.takes(0)
        optimizers[0].step()
        optimizers[1].zero_grad()
        fooled = -30 * critic(made).mean()
        fooled.backward()
        telling.gradients(maker)
        telling.takes(1)
        optimizers[1].step()
        telling.step_ends(wrong + fooled)


def policy_gradient(telling: Telling) -> None:
    """Advantages by a slow copy of the policy, whose values get no gradient; entropy; clipping."""
    net = nn.ModuleDict({"policy": nn.Linear(4, 3), "value": nn.Linear(4, 1)})
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    telling.begins(net, optimizer)
    slow = copy.deepcopy(net)
    for _ in range(STEPS):
        telling.step_begins()
        states, rewards = torch.randn(8, 4), torch.randn(8)
        chances = torch.distributions.Categorical(logits=net["policy"](states))
        actions = chances.sample()
        with torch.no_grad():
            expected = rewards + 0.9 * slow["value"](states.roll(1, 0)).squeeze(-1)
        values = net["value"](states).squeeze(-1)
        advantage = (expected - values).detach()
        loss = -(chances.log_prob(actions) * advantage).mean() - 0.01 * chances.entropy().mean()
        loss = loss + 0.5 * (values - expected).square().mean()
        optimizer.zero_grad()
        loss.backward()
        telling.gradients(net)
        clip_grad_norm_(net.parameters(), 0.3)
        telling.clipped()
        telling.takes(0)
        optimizer.step()
        with torch.no_grad():
            for mine, own in zip(slow.parameters(), net.parameters(), strict=True):
                mine.lerp_(own, 0.1)
        telling.step_ends(loss)


Loop = Callable[[Telling], None]
LOOPS = (accumulation, adversaries, policy_gradient)


def run(loop: Loop, telling: Telling) -> None:
    torch.manual_seed(3)
    loop(telling)


@pytest.fixture(params=LOOPS, ids=[loop.__name__ for loop in LOOPS])
def told(request: pytest.FixtureRequest) -> tuple[Loop, Oracle]:
    oracle = Oracle()
    run(request.param, oracle)
    return request.param, oracle


def test_trends(told: tuple[Loop, Oracle], tmp_path: Path) -> None:
    loop, oracle = told
    follower = ByTrends(tmp_path)
    run(loop, follower)
    follower.trends.close()
    series = TrendRun(tmp_path)
    assert series.steps.tolist() == list(range(STEPS))
    found: list[Scalars] = [{} for _ in range(STEPS)]
    for target in series.targets:
        if target.kind in ("grad", "grad_norm", "clip", "lr", "loss"):
            for step, value in zip(*(each.tolist() for each in series.line(target.key))):
                found[step][target.key] = value
    assert found == [pytest.approx(each, rel=CLOSE) for each in oracle.written]


@pytest.mark.parametrize("kind", [ByTrainerMon, ByTrainerMonitorV2])
def test_both_monitors(
    told: tuple[Loop, Oracle],
    kind: type[ByTrainerMon],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "MONITOR_OUTPUT_DIR", str(tmp_path))
    loop, oracle = told
    for number, truth in enumerate(oracle.taken):
        assert len(truth.norms) >= 2 * STEPS
        monitor = kind(tmp_path / str(number))
        run(loop, ByMonitor(monitor, number))
        monitor.close()
        assert monitor.wrong(truth) == []


def test_the_dumper(told: tuple[Loop, Oracle], tmp_path: Path) -> None:
    loop, oracle = told
    follower = ByDumper(tmp_path)
    run(loop, follower)
    follower.debugger.close()
    for step in range(STEPS):
        [file] = tmp_path.glob(f"step{step}/*/dump.json")
        entries: dict[str, Any] = json.loads(file.read_text())["optimizer"]
        assert len(entries) == len(oracle.taken)
        for entry, truth in zip(entries.values(), oracle.taken, strict=True):
            expected = {name: norm for (n, name), norm in truth.norms.items() if n == step}
            taken = {name: record["Norm"] for name, record in entry["input"].items()}
            assert taken == pytest.approx(expected, rel=CLOSE)
            factor = oracle.written[step].get(("clip", "clip"))
            clipping = entry.get("clipping", {})
            assert ("factor" in clipping) == (factor is not None)
            if factor is not None:
                assert clipping["factor"]["Max"] == pytest.approx(factor, rel=CLOSE)
