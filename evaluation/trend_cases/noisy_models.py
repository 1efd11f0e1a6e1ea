"""Trainings whose noise is unlike others': updates by signs, factored moments, two players; and two
faults that hide in noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional as F

from evaluation.trend_cases.faults import Fault, Scene
from evaluation.trend_cases.healthy_programs import perceptron
from evaluation.trend_cases.models import (
    TRAININGS,
    Batch,
    Language,
    Training,
    next_token,
    real_text,
)
from evaluation.trend_cases.unseen_models import UNSEEN


class Lion(torch.optim.Optimizer):
    """Steps by the sign of an average (Chen et al. 2023, arXiv:2302.06675, algorithm 2)."""

    def __init__(self, model: nn.Module, lr: float) -> None:
        super().__init__(model.parameters(), {"lr": lr, "betas": (0.9, 0.99)})

    @torch.no_grad()
    def step(self, closure: object = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            one, two = group["betas"]
            for parameter in group["params"]:
                average = self.state[parameter].setdefault("exp_avg", torch.zeros_like(parameter))
                update = average * one + parameter.grad * (1 - one)
                parameter.sub_(update.sign(), alpha=group["lr"])
                average.mul_(two).add_(parameter.grad, alpha=1 - two)


class Players(nn.Module):
    """A maker and a critic of points on a ring; each loss reaches its own player alone."""

    def __init__(self) -> None:
        super().__init__()
        self.maker, self.critic = perceptron(4, 32, 32, 2), perceptron(2, 32, 32, 1)

    def forward(self, drawn: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        made = self.maker(drawn)
        told = F.softplus(-self.critic(real)).mean() + F.softplus(self.critic(made.detach())).mean()
        held = {name: value.detach() for name, value in self.critic.named_parameters()}
        seen = torch.func.functional_call(self.critic, held, (made,))
        fooled: torch.Tensor = told + F.softplus(-seen).mean()
        return fooled


def rings() -> Iterator[Batch]:
    generator = torch.Generator().manual_seed(13)
    while True:
        angle = torch.randint(0, 8, (32,), generator=generator) * (math.pi / 4)
        points = torch.stack([angle.cos(), angle.sin()], 1)
        points += 0.05 * torch.randn(32, 2, generator=generator)
        yield torch.randn(32, 4, generator=generator), points


def both_losses(model: nn.Module, batch: Batch) -> torch.Tensor:
    loss: torch.Tensor = model(*batch)
    return loss


NOISY = {
    **TRAININGS,
    **UNSEEN,
    "lion": Training(
        lambda: Language(layers=2), real_text, next_token, lambda model: Lion(model, 1e-3), clip=1.0
    ),
    "adafactor": Training(
        lambda: Language(layers=2),
        real_text,
        next_token,
        lambda model: torch.optim.Adafactor(model.parameters(), lr=1e-2),
    ),
    "adversarial": Training(
        Players,
        rings,
        both_losses,
        lambda model: torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.5, 0.999)),
    ),
}


def frozen_statistics(scene: Scene) -> None:
    """A batch norm that trains on uses its running statistics in place of the batch's."""
    norm = scene.module
    norm.forward = lambda x: F.batch_norm(  # type: ignore[method-assign, assignment]
        x,
        norm.running_mean,
        norm.running_var,
        norm.weight,
        norm.bias,  # type: ignore[arg-type]
    )


def not_reduced(model: str, step: int, ranks: int) -> Fault:
    """From a step on a gradient is that of one of several ranks, which the others do not join."""

    def own_part(scene: Scene) -> None:
        training = NOISY[model]
        alone = training.make()  # nobody follows it
        alone.load_state_dict(scene.model.state_dict())
        part = tuple(each.chunk(ranks)[0] for each in scene.batch)
        training.loss(alone, part).backward()  # type: ignore[arg-type]  # of two
        names = {id(each): name for name, each in scene.model.named_parameters()}
        own = alone.get_parameter(names[id(scene.weight)]).grad
        scene.weight.grad = own

    return Fault(
        "a rank not reduced", ("grad {}.weight",), gradients=own_part, once=False, step=step
    )
