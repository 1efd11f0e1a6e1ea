"""Seeded bugs: Data parallel."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from evaluation.parallel.experiment import Experiment, scale_gradients
from evaluation.parallel.faults.base import (
    DP,
    fault,
    layer_of,
    nudge,
    without,
)
from evaluation.parallel.layout import Layout


@fault(DP, r"layers\.2\.mlp\.up", threads="TTrace 5")
def dp_gradient_not_reduced(run: Experiment) -> None:
    """The gradient of one weight is each process's own."""
    without(run, "dp", "layers.2.mlp.up.weight")


@fault(
    DP,
    r"^optimizer$",
    r"^Distributed\.",
    r"^Optimizer\.",
    r"^Tensor\.mul_",
    threads="Megatron #936",
)
def dp_averaged_twice(run: Experiment) -> None:
    """Gradients are divided by the number of processes twice."""
    run.after_backward["again"] = lambda: scale_gradients(run, 0.5)


@fault(DP, r"^optimizer$", r"^Distributed\.", r"^Optimizer\.", r"^Tensor\.mul_")
def dp_not_averaged(run: Experiment) -> None:
    """Gradients are summed up and not divided."""
    run.after_backward["again"] = lambda: scale_gradients(run, 2.0)


@fault(DP, r"\bembedding\b", r"^Tensor\.chunk", r"^Tensor\.expand", ranks=(1,))
def dp_same_data(run: Experiment) -> None:
    """Process 1 trains on process 0's share of the batch."""
    whole, count = run.batch, run.mesh.layout.dp * run.mesh.layout.micro_batches
    assert whole is not None

    def repeated(step: int) -> tuple[Tensor, ...]:
        return tuple(
            torch.cat([part.chunk(count)[0]] * count) if run.mesh.at("dp") == 1 else part
            for part in whole(step)
        )

    run.batch = repeated  # type: ignore[assignment]


@fault(Layout(dp=2, micro_batches=2), r"layers\.0\.", threads="Megatron PR 3693")
def dp_overlap_too_early(run: Experiment) -> None:
    """The first layer's gradients are reduced before the last micro-batch has added to them."""
    early = run.after_backward["dp"]
    loss = run.loss
    assert loss is not None
    calls = 0
    group, size = run.mesh.group("dp"), run.mesh.size("dp")
    first = [(n, p) for n, p in run.parameters() if n.startswith("layers.0.")]

    def reduce_first(logits: Tensor, labels: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls % 2 == 0:
            for _, parameter in first:
                dist.all_reduce(parameter.grad, group=group)
                parameter.grad.div_(size)  # type: ignore[union-attr]
        return loss(logits, labels)

    run.loss = reduce_first
    without(run, "dp", "layers.0.")
    assert early is not run.after_backward["dp"]


@fault(DP, r"layers\.1\.mlp\.down", ranks=(1,))
def dp_initial_weight(run: Experiment) -> None:
    """Process 1 starts with another weight."""
    if run.mesh.at("dp") == 1:
        nudge(layer_of(run, 1).mlp.down.weight)


@fault(Layout(dp=2, native="ddp"), r"layers\.3\.mlp\.up", ranks=(1,))
def ddp_gradient_touched(run: Experiment) -> None:
    """Process 1 changes a gradient behind DDP's reduction."""

    def touch() -> None:
        if run.mesh.at("dp") == 1:
            layer_of(run, 3).mlp.up.bias.grad.mul_(1.5)

    run.after_backward = {"touch": touch, **run.after_backward}


@fault(Layout(dp=4), r"layers\.0\.mlp\.up", ranks=(3,))
def dp_one_of_four(run: Experiment) -> None:
    """One of four processes does not apply an update."""
    parameter = layer_of(run, 0).mlp.up.weight
    before = parameter.detach().clone()

    def forget() -> None:
        if run.mesh.at("dp") == 3:
            parameter.data.copy_(before)

    run.after_step["forget"] = forget
