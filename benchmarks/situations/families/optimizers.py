"""Steps of optimizers, and what scales, clips or averages on the way."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from benchmarks.situations.families.trainings import BEFORE_CLIPPING
from benchmarks.situations.situation import Made, Net, loss_of, situation, tokens, train


def stepping(kind: Any, **options: Any) -> Made:
    model = Net()
    optimizer = kind(model.parameters(), lr=0.1, **options)

    def step(_: int) -> Any:
        loss = train(model)
        optimizer.step()
        return loss

    return model, step


@situation("Adam", core=True)
def adam() -> Made:
    return stepping(torch.optim.AdamW)


@situation("SGD, foreach")
def foreach() -> Made:
    return stepping(torch.optim.SGD, foreach=True, momentum=0.9)


@situation("Adam, fused")
def fused() -> Made:
    return stepping(torch.optim.Adam, fused=True)


@situation("LBFGS with a closure")
def lbfgs() -> Made:
    model = Net()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    return model, lambda _: optimizer.step(lambda: train(model))


@situation("an optimizer in the backward pass", core=True)
def in_backward() -> Made:
    model = Net()
    optimizers = {each: torch.optim.SGD([each], lr=0.1) for each in model.parameters()}

    def hook(parameter: torch.Tensor) -> None:
        optimizers[parameter].step()  # type: ignore[index]
        optimizers[parameter].zero_grad()  # type: ignore[index]

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(hook)
    return model, lambda _: train(model)


@situation("scaled gradients, clipped", core=True, own_gradients=BEFORE_CLIPPING)
def scaled() -> Made:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def step(_: int) -> Any:
        model.zero_grad()
        loss = loss_of(model(tokens()), tokens())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        return loss, norm

    return model, step


@situation("averaged weights")
def averaged() -> Made:
    model = Net()
    mean = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(_: int) -> Any:
        loss = train(model)
        optimizer.step()
        mean.update_parameters(model)
        return loss, [value.detach().clone() for value in mean.parameters()]

    return model, step
