"""Trainings whose fault leaves no past that a series could leap from, or comes again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from builder.series.alert_causes import one_a_cause
from builder.series.run import TrendRun
from evaluation.trend_cases.models import Dropped, Language, next_token, real_text, table
from evaluation.trend_cases.replaying import replayed
from msprobe.pytorch import Trends
from msprobe_core.format.alerts import Alert

STEPS = 260


@dataclass
class Fault:
    """What goes wrong at a step; each gets the step's number."""

    rate: Callable[[int], float] = lambda step: 1.0
    loss: Callable[[int], float] = lambda step: 1.0
    gradients: Callable[[int, nn.Module], None] = lambda step, model: None
    batch: Callable[[int, torch.Tensor], None] = lambda step, x: None
    weights: Callable[[int, nn.Module], None] = lambda step, model: None
    skips: Callable[[int], bool] = lambda step: False


def tabular(folder: Path, fault: Fault, steps: int = STEPS, lr: float = 0.01) -> list[Alert]:
    """A classifier of rows, with batch norm and dropout."""
    torch.manual_seed(2)
    model, data = Dropped(), table()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    with Trends(folder, model, optimizer, activations="all", alerts=False) as trends:
        for step in range(steps):
            x, wanted = next(data)
            fault.batch(step, x)
            loss = F.cross_entropy(model(x), wanted) * fault.loss(step)
            _step(model, optimizer, loss, fault, step, lr)
            trends.step(loss=loss)
    return one_a_cause(replayed(TrendRun(folder)))


def textual(folder: Path, fault: Fault, steps: int = STEPS, lr: float = 2e-3) -> list[Alert]:
    """A small language model."""
    torch.manual_seed(2)
    model, data = Language(layers=1), real_text()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    with Trends(folder, model, optimizer, activations="all", alerts=False) as trends:
        for step in range(steps):
            ids, wanted = next(data)
            fault.batch(step, wanted)
            loss = next_token(model, (ids, wanted)) * fault.loss(step)
            _step(model, optimizer, loss, fault, step, lr)
            trends.step(loss=loss)
    return one_a_cause(replayed(TrendRun(folder)))


def _step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: torch.Tensor,
    fault: Fault,
    step: int,
    lr: float,
) -> None:
    for group in optimizer.param_groups:
        group["lr"] = lr * fault.rate(step)
    loss.backward()
    fault.gradients(step, model)
    if not fault.skips(step):
        optimizer.step()
    optimizer.zero_grad()
    fault.weights(step, model)
