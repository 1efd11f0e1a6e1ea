"""Loops with a scaler of gradients, fused or not."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.utils import clip_grad_norm_

from tests.msprobe.pytorch.gradient_programs.truth import (
    STEPS,
    Truth,
    loss_of,
    model,
)


def _scaled(truth: Truth, fused: bool, clip: bool) -> None:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    trends = truth.trends(net, optimizer, scaler=scaler)
    for step in range(STEPS):
        truth.begin()
        optimizer.zero_grad()
        scaler.scale(loss_of(net, step)).backward()
        truth.gradients(net, scale=scaler.get_scale())
        if clip:
            scaler.unscale_(optimizer)
            clip_grad_norm_(net.parameters(), 0.3)
            truth.clipped(net)
        scaler.step(optimizer)
        scaler.update()
        trends.step()


def scaler(truth: Truth) -> None:
    _scaled(truth, fused=False, clip=False)


def scaler_of_a_fused_step(truth: Truth) -> None:
    _scaled(truth, fused=True, clip=False)


def scaler_and_clipping(truth: Truth) -> None:
    _scaled(truth, fused=False, clip=True)


def scaler_of_a_fused_step_and_clipping(truth: Truth) -> None:
    _scaled(truth, fused=True, clip=True)


PROGRAMS: tuple[Callable[[Truth], None], ...] = (
    scaler,
    scaler_of_a_fused_step,
    scaler_and_clipping,
    scaler_of_a_fused_step_and_clipping,
)
