"""Steps with closures, of two losses, inside of one another, in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from tests.msprobe.pytorch.gradient_programs.truth import (
    STEPS,
    Truth,
    gradients_of,
    loss_of,
    model,
    norm_of,
)


def _closure(
    truth: Truth, make: Callable[..., Any], clip: bool = False, word: bool = False
) -> None:
    net = model()
    optimizer = make(net.parameters())
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        first = True

        def closure(step: int = step) -> torch.Tensor:
            nonlocal first
            optimizer.zero_grad()
            loss = loss_of(net, step)
            loss.backward()
            if first:
                truth.gradients(net)
            if clip:
                clip_grad_norm_(net.parameters(), 0.5)
            if clip and first:
                truth.clipped(net)
            first = False
            return loss

        trends.step(loss=optimizer.step(closure=closure) if word else optimizer.step(closure))


def closure(truth: Truth) -> None:
    _closure(truth, lambda given: torch.optim.SGD(given, lr=0.01))


def closure_by_name(truth: Truth) -> None:
    _closure(truth, lambda given: torch.optim.AdamW(given, lr=0.01), word=True)


def closure_that_clips(truth: Truth) -> None:
    _closure(truth, lambda given: torch.optim.SGD(given, lr=0.01), clip=True)


def lbfgs(truth: Truth) -> None:
    """The gradient of its first evaluation: its loss is that of this one, too."""
    _closure(truth, lambda given: torch.optim.LBFGS(given, lr=0.01, max_iter=4))


def lbfgs_that_clips(truth: Truth) -> None:
    """Each evaluation is clipped; those behind the first one are at other places."""
    _closure(truth, lambda given: torch.optim.LBFGS(given, lr=0.01, max_iter=4), clip=True)


def closure_called_twice(truth: Truth) -> None:
    """An optimizer that asks again where it climbed to, and clips each time."""

    class Climbing(torch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            with torch.enable_grad():
                loss = closure()
            taken = self.param_groups[0]["params"]
            with torch.no_grad():
                moved = [0.05 * p.grad for p in taken]
                torch._foreach_add_(taken, moved)
            with torch.enable_grad():
                closure()
            with torch.no_grad():
                torch._foreach_sub_(taken, moved)
            super().step()
            return loss

    _closure(truth, lambda given: Climbing(given, lr=0.01), clip=True)


def closure_never_called(truth: Truth) -> None:
    class Deaf(torch.optim.SGD):
        def step(self, closure: object = None) -> None:  # type: ignore[override]
            super().step()

    net = model()
    optimizer = Deaf(net.parameters(), lr=0.01)
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        optimizer.zero_grad()
        loss_of(net, step).backward()
        truth.gradients(net)
        optimizer.step(lambda: None)
        trends.step()


def adversaries(truth: Truth, clip: bool = False) -> None:
    net = model()
    first = torch.optim.SGD(net["a"].parameters(), lr=0.1)
    second = torch.optim.Adam(net["b"].parameters(), lr=0.1)
    trends = truth.trends(net, first)
    trends.add(second)
    for step in range(STEPS):
        truth.begin()
        for part, optimizer, name in ((0, first, "a"), (1, second, "b")):
            optimizer.zero_grad()
            ((1 - 50 * part) * loss_of(net, step, part)).backward()
            truth.before |= {f"{name}.{n}": g for n, g in gradients_of(net[name]).items()}
            truth.grad[-1] |= {
                f"{name}.{n}": float(g.norm()) for n, g in gradients_of(net[name]).items()
            }
            if clip:
                clip_grad_norm_(net[name].parameters(), 0.3)
            optimizer.step()
        if clip:
            # What the second pass adds to the first one's gradients nobody takes.
            _clips_of_parts(truth, ("a", "b"), 0.3)
        trends.step()


def _clips_of_parts(truth: Truth, names: tuple[str, ...], largest: float) -> None:
    before, after = {}, {}
    for name in names:
        own = [n for n in truth.before if n.startswith(name + ".")]
        before[name] = norm_of(truth.before, own)
        truth.clip[-1][name] = min(1.0, largest / (before[name] + 1e-6))
        after[name] = before[name] * truth.clip[-1][name]
    total = [sum(v**2 for v in one.values()) ** 0.5 for one in (after, before)]
    truth.clip[-1]["clip"] = total[0] / total[1]


def adversaries_that_clip(truth: Truth) -> None:
    adversaries(truth, clip=True)


def _plain_steps(
    truth: Truth,
    net: nn.ModuleDict,
    optimizer: torch.optim.Optimizer,
    scale: float = 1.0,
    before: Callable[[int], None] = lambda step: None,
) -> None:
    trends = truth.trends(net, optimizer)
    for step in range(STEPS):
        truth.begin()
        optimizer.zero_grad()
        before(step)
        loss_of(net, step).backward()
        truth.gradients(net, scale=scale)
        optimizer.step()
        trends.step()


def step_of_a_base_class(truth: Truth) -> None:
    """Torch hooks the step of each class that was made once, so both call hooks here."""

    class Own(torch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            return super().step(closure)

    torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    net = model()
    _plain_steps(truth, net, Own(net.parameters(), lr=0.01, momentum=0.9))


def hooks_of_the_user(truth: Truth) -> None:
    """What the user's own hook makes of a gradient is what the optimizer takes."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    trends = truth.trends(net, optimizer)

    def divide(*_: object) -> None:
        for parameter in net.parameters():
            assert parameter.grad is not None
            parameter.grad /= 3

    optimizer.register_step_pre_hook(divide)
    for step in range(STEPS):
        truth.begin()
        optimizer.zero_grad()
        loss_of(net, step).backward()
        truth.gradients(net, scale=3.0)
        optimizer.step()
        trends.step()


def raises_and_goes_on(truth: Truth) -> None:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def fails() -> float:
        loss_of(net, 7).backward()
        raise ValueError("a bad batch")

    def raise_once(step: int) -> None:
        if step == 1:
            try:
                optimizer.step(fails)
            except ValueError:
                optimizer.zero_grad()

    _plain_steps(truth, net, optimizer, before=raise_once)


def steps_in_the_backward_pass(truth: Truth) -> None:
    net = model()
    optimizers = {p: torch.optim.SGD([p], lr=0.01) for p in net.parameters()}
    names = {p: name for name, p in net.named_parameters()}
    trends = truth.trends(net)
    for optimizer in optimizers.values():
        trends.add(optimizer)

    def take(parameter: torch.Tensor) -> None:
        assert parameter.grad is not None
        truth.grad[-1][names[parameter]] = float(parameter.grad.double().norm())  # type: ignore[index]
        optimizers[parameter].step()  # type: ignore[index]
        parameter.grad = None

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(take)
    for step in range(STEPS):
        truth.begin()
        loss_of(net, step).backward()
        trends.step()


PROGRAMS: tuple[Callable[[Truth], None], ...] = (
    closure,
    closure_by_name,
    closure_that_clips,
    lbfgs,
    lbfgs_that_clips,
    closure_never_called,
    adversaries,
    adversaries_that_clip,
    step_of_a_base_class,
)
HELD: tuple[Callable[[Truth], None], ...] = (
    closure_called_twice,
    hooks_of_the_user,
    raises_and_goes_on,
    steps_in_the_backward_pass,
)
"""Written when those above agreed."""
