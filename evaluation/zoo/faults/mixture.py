"""Bugs in a mixture of experts: routing, combining, dead and swapped experts."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from evaluation.zoo.experiment import Experiment
from evaluation.zoo.fault import Fault, backward, call, module, owner, update


def _not_normalised(e: Experiment) -> None:
    e.model.blocks[0].moe.router.normalise = lambda weights: weights


def _router_temperature(e: Experiment) -> None:
    e.model.blocks[1].moe.router.probabilities = lambda logits: functional.softmax(
        logits.float() / 2, dim=-1
    )


def _lowest_chosen(e: Experiment) -> None:
    router = e.model.blocks[1].moe.router

    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        weights, chosen = torch.topk(router.probabilities(router.gate(x)), 2, dim=-1, largest=False)
        return router.normalise(weights).to(x.dtype), chosen

    router.forward = forward


def _unweighted(e: Experiment) -> None:
    e.model.blocks[0].moe.combine = lambda total, token, out, weight: total.index_add(0, token, out)


def _overwritten(e: Experiment) -> None:
    e.model.blocks[0].moe.combine = lambda total, token, out, weight: total.index_copy(
        0, token, out * weight[:, None]
    )


def _experts_swapped(e: Experiment) -> None:
    first, second = e.model.blocks[1].moe.experts[0].w1, e.model.blocks[1].moe.experts[1].w1
    with torch.no_grad():
        kept = first.weight.clone()
        first.weight.copy_(second.weight)
        second.weight.copy_(kept)


def _gate_low_precision(e: Experiment) -> None:
    e.model.blocks[0].moe.router.probabilities = lambda logits: functional.softmax(
        logits.to(torch.bfloat16), dim=-1
    )


def _dead_expert(e: Experiment) -> None:
    expert = e.model.blocks[0].moe.experts[2]
    expert.activate = lambda x: functional.relu(x) * 0


def _router_detached(e: Experiment) -> None:
    e.model.blocks[1].moe.router.normalise = lambda weights: (
        weights / weights.sum(-1, keepdim=True)
    ).detach()


def _expert_not_updated(e: Experiment) -> None:
    left_out = {id(p) for p in e.model.blocks[0].moe.experts[1].parameters()}
    group = e.optimizer.param_groups[0]
    group["params"] = [p for p in group["params"] if id(p) not in left_out]


def _class_ignored(e: Experiment) -> None:
    e.loss = lambda logits, labels: functional.cross_entropy(
        logits.float().flatten(0, -2), labels.flatten() % 8, ignore_index=3
    )


def _overflow(e: Experiment) -> None:
    e.model.blocks[0].moe.experts[0].activate = lambda x: torch.exp(x * 1000)


FAULTS = (
    Fault(
        "routing weights not normalised", "missing", _not_normalised,
        (
            *module("blocks.0.moe.router"),
            *call("blocks.0.moe.router", "Tensor.__truediv__", "Tensor.sum"),
        ),
    ),
    Fault(
        "router temperature 2", "extra", _router_temperature,
        call("blocks.1.moe.router", "Tensor.__truediv__", nth=0),
    ),
    Fault(
        "lowest experts chosen", "forward", _lowest_chosen,
        call("blocks.1.moe.router", "Torch.topk"),
    ),
    Fault(
        "experts not weighted", "missing", _unweighted,
        (*module("blocks.0.moe"), *call("blocks.0.moe", "Tensor.__mul__")),
    ),
    Fault(
        "experts overwrite each other", "forward", _overwritten,
        call("blocks.0.moe", "Tensor.index_copy", "Tensor.index_add"),
    ),
    Fault(
        "two experts swapped", "parameter", _experts_swapped,
        (
            *owner("blocks.1.moe.experts.0.w1", "Functional.linear"),
            *owner("blocks.1.moe.experts.1.w1", "Functional.linear"),
        ),
    ),
    Fault(
        "router in bfloat16", "dtype", _gate_low_precision,
        call("blocks.0.moe.router", "Functional.softmax", "Tensor.to"),
        dtypes=(torch.float32,),  # at bfloat16 that is the model's own rounding
    ),
    Fault(
        "dead expert", "extra", _dead_expert,
        call("blocks.0.moe.experts.2", "Tensor.__mul__"),
    ),
    Fault(
        "router detached", "backward", _router_detached,
        (
            *call("blocks.1.moe.router", "Tensor.detach"),
            *backward(module("blocks.1.moe.router")),
            *backward(call("blocks.1.moe.router", "Tensor.__truediv__")),
        ),
    ),
    Fault(
        "expert left out of the optimizer", "optimizer", _expert_not_updated,
        update("blocks.0.moe.experts.1.w1", "blocks.0.moe.experts.1.w2"),
    ),
    Fault(
        "a class ignored", "data", _class_ignored,
        call("", "Functional.cross_entropy", "Tensor.__mod__", "Tensor.remainder"),
    ),
    Fault(
        "overflow in an expert", "nan", _overflow,
        call("blocks.0.moe.experts.0", "Torch.exp", "Tensor.__mul__", "Functional.relu"),
    ),
)  # fmt: skip
