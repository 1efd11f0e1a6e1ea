"""A small model of equal layers, each of which makes one kind of call: what a fault of one layer is
put into. The layers before and behind it are right, so the place has to be named and not the kind.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Compute = Callable[[Tensor], Tensor]
WIDTH = 16


class Layer(nn.Module):
    def __init__(self, compute: Compute) -> None:
        super().__init__()
        self.inner = nn.Linear(WIDTH, WIDTH)
        self.compute = compute

    def forward(self, x: Tensor) -> Tensor:
        return x + self.compute(self.inner(x))


class Stack(nn.Module):
    def __init__(self, compute: Compute, layers: int = 3) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(compute) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def rows() -> Tensor:
    return torch.randn(6, WIDTH, generator=torch.Generator().manual_seed(1))


def pooled(x: Tensor) -> Tensor:
    return x - x.mean(-1, keepdim=True)


def summed(x: Tensor) -> Tensor:
    return x * x.sum(-1, keepdim=True).tanh()


def largest(x: Tensor) -> Tensor:
    return x - x.amax(-1, keepdim=True)


def spread(x: Tensor) -> Tensor:
    return x / (x.var(-1, keepdim=True) + 1.0)


def running(x: Tensor) -> Tensor:
    return x.cumsum(-1).tanh()


def turned(x: Tensor) -> Tensor:
    square = x @ x.transpose(0, 1)
    return square.softmax(-1) @ x


def shifted(x: Tensor) -> Tensor:
    return x.tanh() + x.roll(1, -1).sigmoid()


def bounded(x: Tensor) -> Tensor:
    return x.clamp(-0.5, 0.5) * 3.0


def weighted(x: Tensor) -> Tensor:
    return torch.full((WIDTH,), 0.5) * x.sin() + x.cos()


def written(x: Tensor) -> Tensor:
    y = 2.0 * x
    y[:, 2:5] = x[:, 2:5].tanh()
    return y.sigmoid()


def added_up(x: Tensor) -> Tensor:
    which = torch.tensor([0, 0, 1])
    y = torch.zeros(2, WIDTH).index_add(0, which, x[:3])
    return x + y.sum(0)


def spread_over(x: Tensor) -> Tensor:
    which = torch.zeros(6, WIDTH, dtype=torch.long)
    return x * torch.zeros(6, WIDTH).scatter_add(0, which, x).tanh().sum(0)


def chosen(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, 0.1 * x).exp().log1p()


def dropped(x: Tensor) -> Tensor:
    return F.dropout(x, 0.25).tanh()


def counted(x: Tensor) -> Tensor:
    return x * (x > 0).sum(-1, keepdim=True) / 4


def divided(x: Tensor) -> Tensor:
    return x.sum(0, keepdim=True) / x.shape[0] + x.tanh()


def folded(x: Tensor) -> Tensor:
    return F.silu(x) * 1.5


def softened(x: Tensor) -> Tensor:
    return F.softplus(x).softmax(-1) * x


def squashed(x: Tensor) -> Tensor:
    return x.tanh().square()


def rotated(x: Tensor) -> Tensor:
    one, other = x.chunk(2, -1)
    return torch.cat([one.sigmoid() - other, other.sigmoid() + one], -1)


def grouped(x: Tensor) -> Tensor:
    return F.group_norm(x.view(1, WIDTH, 6), 4).view(6, WIDTH).erf()


def sorted_by(x: Tensor) -> Tensor:
    largest, at = x.topk(4, -1)
    return x + torch.zeros_like(x).scatter(-1, at, largest.softmax(-1))


def gathered(x: Tensor) -> Tensor:
    at = torch.tensor([2, 0, 1, 5, 3, 4])
    return x.index_select(0, at).expm1().minimum(x + 1.0)


def gated(x: Tensor) -> Tensor:
    return torch.where(torch.ge(x, 0.1) & torch.lt(x, 0.6), x.cos(), x * 0.25)


def scored(x: Tensor) -> Tensor:
    return F.smooth_l1_loss(x, x.flip(-1), reduction="none") + x.atan()
