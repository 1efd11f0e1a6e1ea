"""Activation checkpointing of all kinds, and tensors that are saved elsewhere."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
)

from benchmarks.situations.situation import Made, Net, normal, situation, tokens, train


class Checkpointed(Net):
    """The blocks run as the arguments of `checkpoint` say."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        hidden = self.embed(batch)
        for block in self.blocks:
            hidden = hidden + checkpoint(block, hidden, **self.options)
        return self.head(hidden)  # type: ignore[no-any-return]


@situation("checkpoints, reentrant", core=True)
def reentrant() -> Made:
    model = Checkpointed(use_reentrant=True)
    return model, lambda _: train(model)


@situation("checkpoints, not reentrant", core=True)
def not_reentrant() -> Made:
    model = Checkpointed(use_reentrant=False)
    return model, lambda _: train(model)


def policy(names: tuple[str, ...], _: Any, operator: Any, *args: Any, **kwargs: Any) -> Any:
    save = any(name in str(operator) for name in names)
    return CheckpointPolicy.MUST_SAVE if save else CheckpointPolicy.PREFER_RECOMPUTE


def selective(*names: str) -> Made:
    contexts = functools.partial(
        create_selective_checkpoint_contexts, functools.partial(policy, names)
    )
    model = Checkpointed(use_reentrant=False, context_fn=contexts)
    return model, lambda _: train(model)


@situation("checkpoints, selective by products", core=True)
def selective_products() -> Made:
    return selective("aten.mm", "aten.addmm", "aten.bmm")


@situation("checkpoints, selective by all but the cheap")
def selective_others() -> Made:
    return selective("aten.mm", "aten.addmm", "aten.sum", "aten.native_layer_norm", "aten.max")


@situation("checkpoints with dropout")
def with_dropout() -> Made:
    model = Checkpointed(use_reentrant=False)
    model.blocks[0].append(nn.Dropout(0.5))
    return model, lambda _: train(model)


@situation("checkpoints in sequence")
def sequential() -> Made:
    model = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(4)))

    def step(_: int) -> Any:
        model.zero_grad()
        x = normal(3, 4).requires_grad_()
        out = checkpoint_sequential(model, 2, x, use_reentrant=False)
        out.sum().backward()
        return out, x.grad

    return model, step


@situation("saved tensors packed by hooks")
def packed() -> Made:
    model = Net()

    def step(_: int) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(
            lambda tensor: tensor.double() if tensor.is_floating_point() else tensor,
            lambda tensor: tensor.float() if tensor.is_floating_point() else tensor,
        ):
            return train(model)

    return model, step


@situation("saved tensors on the CPU")
def on_cpu() -> Made:
    model = Net()

    def step(_: int) -> Any:
        with torch.autograd.graph.save_on_cpu():
            return train(model, tokens(seed=9))

    return model, step
