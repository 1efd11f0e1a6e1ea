"""Loops that clip: all, parts, another model, by other norms, by value."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from tests.msprobe.pytorch.gradient_programs.truth import (
    STEPS,
    Truth,
    loss_of,
    model,
)

clip_before_anybody_listens = clip_grad_norm_


def clips_all(truth: Truth) -> None:
    _clips(truth, lambda net: clip_grad_norm_(net.parameters(), 0.3))


def clips_one_by_one(truth: Truth) -> None:
    _clips(truth, lambda net: clip_grad_norm_(list(net.parameters()), 0.3, foreach=False))


def clips_a_part(truth: Truth) -> None:
    _clips(truth, lambda net: clip_grad_norm_(net["b"].parameters(), 0.1), "b")


def clips_part_by_part(truth: Truth) -> None:
    _clips(truth, lambda net: [clip_grad_norm_(net[n].parameters(), 0.1) for n in "ab"], "a", "b")


def clips_by_the_largest(truth: Truth) -> None:
    _clips(truth, lambda net: clip_grad_norm_(net.parameters(), 0.1, norm_type=float("inf")))


def clips_by_the_sum(truth: Truth) -> None:
    _clips(truth, lambda net: clip_grad_norm_(net.parameters(), 0.1, 1))


def clips_values(truth: Truth) -> None:
    _clips(truth, lambda net: clip_grad_value_(net.parameters(), 0.05))


def clips_values_then_the_norm(truth: Truth) -> None:
    def both(net: nn.ModuleDict) -> None:
        clip_grad_value_(net.parameters(), 0.05)
        clip_grad_norm_(net.parameters(), 0.1)

    _clips(truth, both)


def clips_another_model(truth: Truth) -> None:
    other = nn.Linear(4, 1)
    other(torch.ones(1, 4)).sum().backward()
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        clip_grad_norm_(other.parameters(), 1e-3)
        loss_of(net, step).backward()
        truth.gradients(net)
        optimizer.step()
        optimizer.zero_grad()
        trends.step()


def clips_by_a_name_taken_before(truth: Truth) -> None:
    _clips(truth, lambda net: clip_before_anybody_listens(net.parameters(), 0.3))


def clips_by_a_norm_of_its_own(truth: Truth) -> None:
    def clip(net: nn.ModuleDict) -> None:
        norm = nn.utils.get_total_norm([p.grad for p in net["a"].parameters()])
        nn.utils.clip_grads_with_norm_(net.parameters(), 0.3, norm)

    _clips(truth, clip)


def clips_each_micro_batch(truth: Truth) -> None:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        for part in range(3):
            loss_of(net, step, part).backward()
            truth.gradients(net)
            clip_grad_norm_(net.parameters(), 0.3)
        truth.clipped(net)
        optimizer.step()
        optimizer.zero_grad()
        trends.step()


def clipped_and_accumulated(truth: Truth) -> None:
    """What comes after the clipping makes it another gradient."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        optimizer.zero_grad()
        loss_of(net, step).backward()
        clip_grad_norm_(net.parameters(), 0.3)
        loss_of(net, step, 1).backward()
        truth.gradients(net)
        optimizer.step()
        trends.step()


def _clips(truth: Truth, clip: Callable[[nn.ModuleDict], object], *parts: str) -> None:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        loss_of(net, step).backward()
        truth.gradients(net)
        clip(net)
        truth.clipped(net, **{name: net[name] for name in parts})
        optimizer.step()
        optimizer.zero_grad()
        trends.step()


PROGRAMS: tuple[Callable[[Truth], None], ...] = (
    clips_all,
    clips_one_by_one,
    clips_a_part,
    clips_part_by_part,
    clips_by_the_largest,
    clips_by_the_sum,
    clips_values,
    clips_values_then_the_norm,
    clips_another_model,
    clips_by_a_name_taken_before,
    clips_by_a_norm_of_its_own,
    clips_each_micro_batch,
)
HELD: tuple[Callable[[Truth], None], ...] = (clipped_and_accumulated,)
"""Written when those above agreed."""
