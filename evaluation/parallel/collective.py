"""Collectives as autograd functions, the way Megatron pairs them forward and backward."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

Group = dist.ProcessGroup | None


def all_reduced(x: Tensor, group: Group) -> Tensor:
    """The sum over a group."""
    summed = x.clone()
    if group is not None:
        dist.all_reduce(summed, group=group)
    return summed


def gathered(x: Tensor, group: Group, dim: int) -> Tensor:
    """The parts of all processes along one dimension."""
    if group is None:
        return x
    parts = [torch.empty_like(x) for _ in range(group.size())]
    dist.all_gather(parts, x.contiguous(), group=group)
    return torch.cat(parts, dim)


def reduce_scattered(x: Tensor, group: Group, dim: int) -> Tensor:
    """A process's part of the sum over a group."""
    if group is None:
        return x
    parts = [part.contiguous() for part in x.chunk(group.size(), dim)]
    own = torch.empty_like(parts[0])
    dist.reduce_scatter(own, parts, group=group)
    return own


class Copy(torch.autograd.Function):
    """Forward the same, backward the sum: what stands before column-parallel layers."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return all_reduced(grads[0], ctx.group), None


class Reduce(torch.autograd.Function):
    """Forward the sum, backward the same: what stands behind row-parallel layers."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        return all_reduced(x, group)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0], None


class Gather(torch.autograd.Function):
    """Forward the whole; backward this process's part of the sum, or of the value alone."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group, dim: int, summed: bool) -> Tensor:
        ctx.group, ctx.dim, ctx.summed = group, dim, summed
        return gathered(x, group, dim)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        group, dim = ctx.group, ctx.dim
        if ctx.summed:
            return reduce_scattered(grads[0], group, dim), None, None, None
        own = grads[0].chunk(group.size(), dim)[group.rank()] if group is not None else grads[0]
        return own.contiguous(), None, None, None


class Scatter(torch.autograd.Function):
    """Forward this process's part of the sum (or of the value), backward the whole."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group, dim: int, summed: bool) -> Tensor:
        ctx.group, ctx.dim = group, dim
        if summed:
            return reduce_scattered(x, group, dim)
        own = x.chunk(group.size(), dim)[group.rank()] if group is not None else x
        return own.contiguous()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return gathered(grads[0], ctx.group, ctx.dim), None, None, None


class AllToAll(torch.autograd.Function):
    """Rows to other processes, by counts; backward the way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group, sent: list[int], got: list[int]) -> Tensor:
        ctx.group, ctx.sent, ctx.got = group, sent, got
        return _exchanged(x, group, sent, got)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _exchanged(grads[0], ctx.group, ctx.got, ctx.sent), None, None, None


def _exchanged(x: Tensor, group: Group, sent: list[int], got: list[int]) -> Tensor:
    if group is None:
        return x
    received = x.new_empty((sum(got), *x.shape[1:]))
    dist.all_to_all_single(received, x.contiguous(), got, sent, group=group)
    return received
