"""Seeded bugs of sharded optimizers: ZeRO."""

from __future__ import annotations

import torch

from evaluation.parallel.experiment import Experiment, clip
from evaluation.parallel.faults.base import (
    CLIPPED,
    ZERO,
    fault,
    layer_of,
    stays,
    without,
)
from evaluation.parallel.layout import Layout


@fault(ZERO, r"layers\.1\.mlp\.up", threads="Megatron #950, #663")
def zero_update_not_sent(run: Experiment) -> None:
    """The owner of a weight updates it and sends it to nobody."""
    parameter = layer_of(run, 1).mlp.up.weight
    send = run.after_step["send"]
    index = [p is parameter for _, p in run.parameters()].index(True)
    owner = index % run.mesh.size("dp")

    def without() -> None:
        own = parameter.detach().clone()
        send()
        if run.mesh.at("dp") != owner:
            parameter.data.copy_(own)

    run.after_step["send"] = without


@fault(ZERO, r"layers\.2\.attention\.out", threads="Megatron #656")
def zero_gradient_not_reduced(run: Experiment) -> None:
    """The owner of a weight reads its own gradient only."""
    without(run, "dp", "layers.2.attention.out.weight")


@fault(ZERO, r"layers\.0\.mlp\.down", threads="Megatron #950")
def zero_wrong_sender(run: Experiment) -> None:
    """The updated weight is overwritten by one that was not."""
    parameter = layer_of(run, 0).mlp.down.weight
    before = parameter.detach().clone()
    send = run.after_step["send"]

    def overwrite() -> None:
        send()
        parameter.data.copy_(before)

    run.after_step["send"] = overwrite


@fault(
    Layout(tp=2, dp=2, zero=True),
    r"^optimizer$",
    r"^Optimizer\.",
    r"^Tensor\.",
    size=CLIPPED,
    threads="Megatron #7452",
)
def zero_tp_clip_local(run: Experiment) -> None:
    """Each process of tp clips by the norm of its own share, under ZeRO."""

    def local() -> None:
        squares = [p.grad.float().square().sum() for _, p in run.parameters() if p.grad is not None]
        clip(run, torch.stack(squares).sum().sqrt())

    run.after_backward["clip"] = local


@fault(Layout(tp=2, dp=2), r"layers\.2\.attention_norm", ranks=(1, 3))
def tp_dp_norm_stale(run: Experiment) -> None:
    """A norm's weight is not updated on the second place of tp."""
    stays(run, "forget", "tp", 1, r"layers\.2\.attention_norm")
