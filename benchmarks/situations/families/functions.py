"""Functions and operators of the user's own."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import nn

from benchmarks.situations.situation import Made, calling, situation, trained_on


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, by: float) -> torch.Tensor:
        ctx.by = by
        ctx.save_for_backward(x)
        return x * by

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        (x,) = ctx.saved_tensors
        return gradients[0] * ctx.by + x * 0, None


class Paired(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.sin(), x.cos()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return gradients[0] * x.cos() - gradients[1] * x.sin()


@situation("custom autograd functions", core=True)
def autograd_functions() -> Made:
    model = nn.Sequential(
        nn.Linear(4, 4),
        calling(lambda x: Scaled.apply(x, 2.0)),
        calling(lambda x: sum(Paired.apply(x))),
    )
    return trained_on(model, 3, 4)


@lru_cache(maxsize=1)
def doubled() -> Any:
    @torch.library.custom_op("situations::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    doubled.register_fake(lambda x: torch.empty_like(x) * 1)
    doubled.register_autograd(lambda _, gradient: gradient * 2)
    return doubled


@lru_cache(maxsize=1)
def filled() -> Any:
    @torch.library.custom_op("situations::filled", mutates_args=("x",))
    def filled(x: torch.Tensor, value: float) -> None:
        x.fill_(value)

    return filled


@situation("operators of torch.library", core=True)
def library_operators() -> Made:
    def call(x: torch.Tensor) -> torch.Tensor:
        buffer = torch.zeros(4)
        filled()(buffer, 3.0)
        return doubled()(x) + buffer

    model = nn.Sequential(nn.Linear(4, 4), calling(call))
    return trained_on(model, 3, 4)
