"""A small language model and ways to train it, for recordings inside compiled graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RootMeanSquareNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor, least: float | None = None) -> Tensor:
        if least is None:  # dynamo translates such a test to other instructions
            least = 1e-6
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + least) * self.weight


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        heads = (batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = self.qkv(x).view(*heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.out(y.transpose(1, 2).reshape(batch, tokens, width))
        return out


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm = RootMeanSquareNorm(width)
        self.attention = Attention(width, heads)
        self.up = nn.Linear(width, 4 * width)
        self.act = nn.GELU()
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm(x))
        y: Tensor = self.down(self.act(self.up(x)))
        return 2 * x + y


class Language(nn.Module):
    def __init__(
        self,
        width: int = 32,
        heads: int = 2,
        layers: int = 2,
        words: int = 64,
        make_layer: Callable[[int, int], nn.Module] = Block,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(make_layer(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, words, bias=bias)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        out: Tensor = self.head(x)
        return out


def language() -> Language:
    torch.manual_seed(0)
    return Language()


def batch(rows: int = 2, tokens: int = 8) -> Tensor:
    return torch.randint(0, 64, (rows, tokens), generator=torch.Generator().manual_seed(1))


def train(
    model: nn.Module, run: Callable[[Tensor], Any], ids: Tensor | None = None
) -> list[Tensor]:
    """One forward and backward pass: the output and all gradients."""
    ids = batch() if ids is None else ids
    model.zero_grad()
    out = run(ids)
    F.cross_entropy(out.flatten(0, 1), ids.flatten()).backward()
    return [out.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]


def are_equal(one: list[Tensor], other: list[Tensor]) -> bool:
    return len(one) == len(other) and all(map(torch.equal, one, other))
