"""Optimizers around another one, and steps that are none of the training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.msprobe.pytorch.gradient_programs.truth import (
    STEPS,
    Truth,
    loss_of,
    model,
)


def checkpointed(truth: Truth, make: type[torch.optim.Optimizer] = torch.optim.AdamW) -> None:
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    net = model()
    optimizer = make(net.parameters(), lr=0.01)  # type: ignore[call-arg]
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        weights, state = get_state_dict(net, optimizer)
        set_state_dict(net, optimizer, model_state_dict=weights, optim_state_dict=state)
        truth.begin()
        loss_of(net, step).backward()
        truth.gradients(net)
        optimizer.step()
        optimizer.zero_grad()
        trends.step()


class Inherits(torch.optim.Optimizer):
    """As accelerate's: it never calls torch's constructor, and accumulates by doing nothing."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer, self.calls = optimizer, 0

    @property
    def state(self) -> Any:  # type: ignore[override]
        return self.optimizer.state

    @property
    def param_groups(self) -> Any:  # type: ignore[override]
        return self.optimizer.param_groups

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self.calls += 1
        if self.calls % 2 == 0:
            self.optimizer.step(closure)


def wrapped(truth: Truth) -> None:
    net = model()
    optimizer = Inherits(torch.optim.AdamW(net.parameters(), lr=0.01))
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        for part in range(2):
            loss_of(net, step, part).backward()
            if part:
                truth.gradients(net)
            optimizer.step()
        optimizer.optimizer.zero_grad()
        trends.step()


def sharpness_aware(truth: Truth) -> None:
    """An optimizer that has another one of the same parameters step inside of its own step."""

    class Sharp(torch.optim.Optimizer):
        def __init__(self, given: Any) -> None:
            given = list(given)
            super().__init__(given, {"lr": 0.01})
            self.base = torch.optim.SGD(given, lr=0.01)

        def step(self, closure: Any = None) -> None:  # type: ignore[override]
            with torch.no_grad():
                moved = [0.05 * p.grad for p in self.param_groups[0]["params"]]
                torch._foreach_add_(self.param_groups[0]["params"], moved)
            with torch.enable_grad():
                closure()
            with torch.no_grad():
                torch._foreach_sub_(self.param_groups[0]["params"], moved)
            self.base.step()

    net = model()
    optimizer = Sharp(net.parameters())
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        optimizer.zero_grad()
        loss_of(net, step).backward()

        def second(step: int = step) -> None:
            optimizer.zero_grad()
            loss_of(net, step).backward()
            truth.gradients(net)

        optimizer.step(second)
        trends.step()


def checkpointed_without_a_state(truth: Truth) -> None:
    checkpointed(truth, torch.optim.SGD)


PROGRAMS: tuple[Callable[[Truth], None], ...] = (
    checkpointed,
    wrapped,
)
HELD: tuple[Callable[[Truth], None], ...] = (
    sharpness_aware,
    checkpointed_without_a_state,
)
"""Written when those above agreed."""
