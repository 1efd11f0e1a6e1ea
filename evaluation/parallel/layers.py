"""Layers cut over tensor-parallel processes by hand; what each does is an attribute to replace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.parallel.collective import Copy, Gather, Reduce, Scatter
from evaluation.parallel.layout import Mesh

SEQUENCE = 1
Operation = Callable[[Tensor], Tensor]


def same(x: Tensor) -> Tensor:
    """What an operation does on one process."""
    return x


def cut(whole: Tensor, dim: int, mesh: Mesh, fused: Sequence[int] = (1,)) -> Tensor:
    """A process's share of a parameter; of each piece where several of some extents are fused."""
    size, own = mesh.size("tp"), mesh.at("tp")
    extents = [extent * whole.shape[dim] // sum(fused) for extent in fused]
    parts = [piece.chunk(size, dim)[own] for piece in whole.split(extents, dim)]
    return torch.cat(parts, dim).clone()


class Conv1D(nn.Module):
    """A linear layer whose weight is stored (in, out), as those of GPT-2 in transformers."""

    def __init__(self, whole: nn.Linear) -> None:
        super().__init__()
        self.weight = nn.Parameter(whole.weight.detach().T.clone())
        self.bias = nn.Parameter(whole.bias.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        flat = torch.addmm(self.bias, x.flatten(0, -2), self.weight)
        return flat.unflatten(0, x.shape[:-1])


class ColumnParallelLinear(nn.Module):
    """Its output is cut over tp; `enter` takes the input in, `leave` hands the output on."""

    def __init__(
        self,
        whole: nn.Linear,
        mesh: Mesh,
        fused: Sequence[int] = (1,),
        gather_output: bool = False,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(cut(whole.weight.detach(), 0, mesh, fused))
        self.bias = None
        if whole.bias is not None:
            self.bias = nn.Parameter(cut(whole.bias.detach(), 0, mesh, fused))
        group = mesh.group("tp")
        sequence = mesh.layout.sequence_parallel
        self.enter: Operation = (
            (lambda x: Gather.apply(x, group, SEQUENCE, True))
            if sequence
            else (lambda x: Copy.apply(x, group))
        )
        self.leave: Operation = (
            (lambda x: Gather.apply(x, group, x.ndim - 1, False)) if gather_output else same
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(functional.linear(self.enter(x), self.weight, self.bias))


class RowParallelLinear(nn.Module):
    """Its input is cut over tp; `leave` sums the processes' parts."""

    def __init__(self, whole: nn.Linear, mesh: Mesh) -> None:
        super().__init__()
        self.weight = nn.Parameter(cut(whole.weight.detach(), 1, mesh))
        self.bias = None
        if whole.bias is not None:
            self.bias = nn.Parameter(whole.bias.detach().clone())
        group = mesh.group("tp")
        self.leave: Operation = (
            (lambda x: Scatter.apply(x, group, SEQUENCE, True))
            if mesh.layout.sequence_parallel
            else (lambda x: Reduce.apply(x, group))
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.leave(functional.linear(x, self.weight))
        return y if self.bias is None else y + self.bias


class VocabParallelEmbedding(nn.Module):
    """Each process holds some rows; tokens of others give zeros, and the sum is the row."""

    def __init__(self, whole: nn.Embedding, mesh: Mesh) -> None:
        super().__init__()
        self.weight = nn.Parameter(cut(whole.weight.detach(), 0, mesh))
        self.first = mesh.at("tp") * self.weight.shape[0]
        group = mesh.group("tp")
        self.leave: Operation = (
            (lambda x: Scatter.apply(x, group, SEQUENCE, True))
            if mesh.layout.sequence_parallel
            else (lambda x: Reduce.apply(x, group))
        )
        self.is_foreign: Operation = lambda t: (
            (t < self.first) | (t >= self.first + self.weight.shape[0])
        )

    def forward(self, tokens: Tensor) -> Tensor:
        foreign = self.is_foreign(tokens)
        local = (tokens - self.first).clamp(0, self.weight.shape[0] - 1)
        rows = functional.embedding(local, self.weight)
        return self.leave(rows.masked_fill(foreign.unsqueeze(-1), 0.0))
