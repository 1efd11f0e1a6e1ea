"""Parameters that are sparse, frozen, made later, or kept in buffers of a framework."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from tests.msprobe.pytorch.gradient_programs.truth import (
    STEPS,
    Truth,
    loss_of,
    model,
)


def sparse(truth: Truth) -> None:
    torch.manual_seed(0)
    net = nn.Embedding(10, 4, sparse=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        optimizer.zero_grad()
        net(torch.tensor([1, 1, 1, step, 2])).square().sum().backward()
        truth.gradients(net)
        optimizer.step()
        trends.step()


def unfrozen(truth: Truth) -> None:
    net = model()
    net["a"].requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        if step == 2:
            net["a"].requires_grad_(True)
        optimizer.zero_grad()
        loss_of(net, step).backward()
        truth.gradients(net)
        optimizer.step()
        trends.step()


def made_later(truth: Truth) -> None:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        if step == 2:
            net["a"].further = nn.Linear(4, 4)
            net["a"].register_forward_hook(lambda module, _, output: module.further(output))
            optimizer.add_param_group({"params": list(net["a"].further.parameters())})
        optimizer.zero_grad()
        loss_of(net, step).backward()
        truth.gradients(net)
        optimizer.step()
        trends.step()


def frozen_again(truth: Truth) -> None:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        net["a"].requires_grad_(step != 1)
        optimizer.zero_grad()
        loss_of(net, step).backward()
        truth.gradients(net)
        optimizer.step()
        trends.step()


class Foreign:
    """As Megatron's: none of torch, gradients in buffers of its own, a step that may be told."""

    def __init__(self, net: nn.Module) -> None:
        self.net, self.param_groups = net, [{"params": list(net.parameters()), "lr": 0.01}]
        for parameter in net.parameters():
            parameter.main_grad = torch.zeros_like(parameter)  # type: ignore[attr-defined]
            parameter.register_post_accumulate_grad_hook(self._accumulate)

    def _accumulate(self, parameter: torch.Tensor) -> None:
        parameter.main_grad += parameter.grad  # type: ignore[attr-defined]
        parameter.grad = None

    def step(self) -> tuple[bool, None, None]:
        with torch.no_grad():
            for parameter in self.net.parameters():
                parameter.sub_(0.01 * parameter.main_grad)  # type: ignore[operator]
        return True, None, None


def buffers_of_a_framework(truth: Truth) -> None:
    net = model()
    optimizer = Foreign(net)
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        for parameter in net.parameters():
            parameter.main_grad.zero_()  # type: ignore[union-attr]
        for part in range(2):
            loss_of(net, step, part).backward()
        truth.grad[-1] = {
            n: float(p.main_grad.double().norm())  # type: ignore[union-attr]
            for n, p in net.named_parameters()
        }
        optimizer.step()
        trends.step()


PROGRAMS: tuple[Callable[[Truth], None], ...] = (
    sparse,
    unfrozen,
    made_later,
)
HELD: tuple[Callable[[Truth], None], ...] = (
    frozen_again,
    buffers_of_a_framework,
)
"""Written when those above agreed."""
