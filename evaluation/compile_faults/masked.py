"""A small model with what the language model of the graph tests lacks: a norm of torch's, attention
written out with a mask, and another activation.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.msprobe_core.torch.graph.models import Language


class MaskedAttention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.shape[-2]
        later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        scores = self.q(x) @ self.k(x).transpose(-1, -2)
        scores = scores.masked_fill(later, float("-inf"))
        out: Tensor = self.out(scores.softmax(-1) @ self.v(x))
        return out


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), MaskedAttention(width)
        self.up, self.act = nn.Linear(width, 2 * width), nn.SiLU()
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm(x))
        out: Tensor = x + self.down(self.act(self.up(x)))
        return out


class Masked(Language):
    def __init__(self) -> None:
        super().__init__(make_layer=lambda width, _: Layer(width), bias=True)
