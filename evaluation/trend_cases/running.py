"""Runs a training with or without a fault, followed by `Trends` with the activations of all."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from evaluation.trend_cases.faults import Fault, Scene
from evaluation.trend_cases.models import Training
from msprobe.pytorch.trends import Trends

AFTER = 60
"""Steps that a training goes on behind its fault."""


def run(
    training: Training,
    directory: Path,
    fault: Fault | None = None,
    place: str = "",
    seed: int = 0,
    *,
    steps: int | None = None,
    noise: float = 0.0,
    order: int | None = None,
    draw: int = 7,
) -> None:
    """Train into a folder; with `noise` weights begin off by so much, as other rounding does.

    `draw` is the seed of that noise. With `order`, a seed too, the rows of each batch change
    places, so that every sum over them is rounded otherwise in every step.
    """
    rows = None if order is None else torch.Generator().manual_seed(order)
    torch.manual_seed(seed)
    model = training.make()
    if noise:
        _shake(model, noise, draw)
    optimizer = training.optimizer(model)
    first = [group["lr"] for group in optimizer.param_groups]
    count = steps or (training.steps if fault is None else fault.step + max(AFTER, fault.late + 20))
    data = training.data()
    with Trends(directory, model, optimizer, activations="all") as trends:
        for step in range(count):
            batch = next(data)
            if rows is not None:
                places = torch.randperm(len(batch[0]), generator=rows)
                batch = (batch[0][places], batch[1][places])
            scene = _scene(model, place, optimizer, batch)
            strikes = fault is not None and (
                step == fault.step or (step > fault.step and not fault.once)
            )
            for group, lr in zip(optimizer.param_groups, first, strict=True):
                if not (fault and fault.name.startswith("rate") and step > fault.step):
                    group["lr"] = lr * training.schedule(step)
            if strikes and fault:
                fault.before(scene)
            loss = _step(training, model, batch, fault if strikes else None)
            if strikes and fault:
                fault.gradients(scene)
            if training.clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), training.clip)
            optimizer.step()
            optimizer.zero_grad()
            trends.step(loss=loss)


def _shake(model: nn.Module, noise: float, draw: int) -> None:
    generator = torch.Generator().manual_seed(draw)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + noise * torch.randn(parameter.shape, generator=generator))


def _step(
    training: Training,
    model: nn.Module,
    batch: tuple[torch.Tensor, torch.Tensor],
    fault: Fault | None,
) -> torch.Tensor:
    total = torch.zeros(())
    parts = zip(*(each.chunk(training.micro) for each in batch), strict=True)
    for part in parts:
        loss = training.loss(model, part) / training.micro
        if fault is not None:
            loss = fault.loss(loss)
        loss.backward()
        total += loss.detach()
    return total


def _scene(
    model: nn.Module,
    place: str,
    optimizer: torch.optim.Optimizer,
    batch: tuple[torch.Tensor, torch.Tensor],
) -> Scene:
    module = model.get_submodule(place) if place else model
    return Scene(model, module, optimizer, list(batch))
