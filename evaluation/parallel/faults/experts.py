"""Seeded bugs of experts over ranks."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn

from evaluation.parallel.experiment import Experiment, clip
from evaluation.parallel.experts import Experts
from evaluation.parallel.faults.base import (
    EP,
    EXPERTS,
    fault,
    layer_of,
    stays,
    without,
)
from evaluation.parallel.layout import Layout
from evaluation.parallel.size import Size

DROPPING = Size(experts=4, capacity=1.0)
TOP2 = Size(experts=4, top=2)
OF_MICRO_BATCHES = Layout(micro_batches=2)


@fault(EP, r"mlp\.experts", r"\.mlp\.Experts", size=EXPERTS)
def ep_experts_swapped(run: Experiment) -> None:
    """The two experts of each process stand in the wrong order in one layer."""
    experts = _experts(run, 1)
    experts.experts = nn.ModuleList(reversed(list(experts.experts)))


def _experts(run: Experiment, index: int) -> Experts:
    found = layer_of(run, index).mlp
    assert isinstance(found, Experts)
    return found


@fault(EP, r"experts\.", r"^Distributed\.all_reduce", size=EXPERTS)
def ep_gradients_mixed(run: Experiment) -> None:
    """Gradients of different experts are averaged over the processes that have them."""

    def mixed() -> None:
        for name, parameter in run.parameters():
            if "experts." in name:
                dist.all_reduce(parameter.grad, group=run.mesh.group("dp"))

    run.after_backward["mix"] = mixed


@fault(EP, r"\brouter\b", size=EXPERTS, threads="Megatron #599")
def router_not_synchronised(run: Experiment) -> None:
    """The gradients of the routers are each process's own."""
    without(run, "dp", "router")


@fault(
    EP,
    r"^optimizer$",
    r"^Optimizer\.",
    r"^Tensor\.",
    size=Size(experts=4, clip=True),
    threads="Megatron PR 5916",
)
def ep_clip_local(run: Experiment) -> None:
    """Each process clips by the norm of its own share."""

    def local() -> None:
        total = sum(
            p.grad.float().square().sum() for _, p in run.parameters() if p.grad is not None
        )
        clip(run, torch.as_tensor(total).sqrt())

    run.after_backward["clip"] = local


@fault(EP, r"layers\.2\.mlp\b", size=EXPERTS)
def ep_answers_shifted(run: Experiment) -> None:
    """The experts' answers come back one row off."""
    experts = _experts(run, 2)
    by_expert = experts._by_expert
    experts._by_expert = lambda *a: by_expert(*a).roll(1, 0)  # type: ignore[method-assign]


@fault(EP, r"layers\.1\.mlp\b", ranks=(1,), size=DROPPING, benchmark=OF_MICRO_BATCHES)
def ep_capacity_of_one(run: Experiment) -> None:
    """Process 1 drops what is above half of the capacity."""
    if run.mesh.at("dp") == 1:
        _experts(run, 1).capacity /= 2


@fault(EP, r"layers\.2\.mlp\b", size=DROPPING, benchmark=OF_MICRO_BATCHES)
def ep_drop_weights_kept(run: Experiment) -> None:
    """Tokens that are dropped come back as they are, not as zeros."""
    _experts(run, 2).keeps_dropped = True


@fault(EP, r"layers\.1\.router", size=TOP2)
def ep_top2_not_normalised(run: Experiment) -> None:
    """One router divides its two chances by their sum."""
    layer_of(run, 1).router.is_normalised = True


@fault(EP, r"\brouter\b", ranks=(1,), size=EXPERTS)
def ep_router_stale(run: Experiment) -> None:
    """Process 1 does not apply the updates of its routers."""
    stays(run, "forget", "dp", 1, "router")
