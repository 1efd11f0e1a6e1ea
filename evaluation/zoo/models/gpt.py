"""A decoder as large language models have it: RoPE, RMSNorm, grouped-query attention, SwiGLU."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.zoo.experiment import Experiment, tokens

VOCABULARY, HIDDEN, HEADS, KEY_HEADS, LAYERS, LENGTH = 64, 32, 4, 2, 3, 12
HEAD = HIDDEN // HEADS


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * self.normalise(x.float()).to(x.dtype)

    def normalise(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class Rotary(nn.Module):
    def __init__(self, base: float = 10_000.0) -> None:
        super().__init__()
        self.base = base

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        exponents = torch.arange(0, HEAD, 2, dtype=torch.float32) / HEAD
        angles = positions[:, None].float() * (self.base**-exponents)[None]
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj = nn.Linear(HIDDEN, HEADS * HEAD, bias=False)
        self.k_proj = nn.Linear(HIDDEN, KEY_HEADS * HEAD, bias=False)
        self.v_proj = nn.Linear(HIDDEN, KEY_HEADS * HEAD, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD, HIDDEN, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        query = self.rotate_query(self.heads(self.q_proj(x)), cos, sin)
        key = self.rotate(self.heads(self.k_proj(x)), cos, sin)
        value = self.heads(self.v_proj(x))
        weights = self.weights(self.mask(self.scores(query, self.share(key))))
        mixed = torch.matmul(weights, self.share(value))
        return self.o_proj(mixed.transpose(1, 2).flatten(2))

    def heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, HEAD)).transpose(1, 2)

    def share(self, x: Tensor) -> Tensor:
        return x.repeat_interleave(HEADS // KEY_HEADS, dim=1)

    def rotate_query(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return self.rotate(x, cos, sin)

    def rotate(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat((-second, first), dim=-1)
        return x * cos.to(x.dtype) + turned * sin.to(x.dtype)

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        return torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(HEAD)

    def mask(self, scores: Tensor) -> Tensor:
        length = scores.shape[-1]
        future = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
        return scores.masked_fill(future, float("-inf"))

    def weights(self, scores: Tensor) -> Tensor:
        return functional.softmax(scores.float(), dim=-1).to(scores.dtype)


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(HIDDEN, 2 * HIDDEN, bias=False)
        self.up_proj = nn.Linear(HIDDEN, 2 * HIDDEN, bias=False)
        self.down_proj = nn.Linear(2 * HIDDEN, HIDDEN, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.activate(self.gate_proj(x)) * self.up_proj(x))

    def activate(self, x: Tensor) -> Tensor:
        return functional.silu(x)


class DecoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(HIDDEN)
        self.self_attn = Attention()
        self.post_attention_layernorm = RMSNorm(HIDDEN)
        self.mlp = MLP()

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = self.add_attention(x, self.self_attn(self.input_layernorm(x), cos, sin))
        return self.add_mlp(x, self.mlp(self.post_attention_layernorm(x)))

    def add_attention(self, x: Tensor, branch: Tensor) -> Tensor:
        return x + branch

    def add_mlp(self, x: Tensor, branch: Tensor) -> Tensor:
        return x + branch


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, HIDDEN)
        self.rotary_emb = Rotary()
        self.layers = nn.ModuleList(DecoderLayer() for _ in range(LAYERS))
        self.norm = RMSNorm(HIDDEN)
        self.lm_head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed_tokens(ids)
        cos, sin = self.rotary_emb(self.positions(ids))
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.lm_head(self.norm(x))

    def positions(self, ids: Tensor) -> Tensor:
        return torch.arange(ids.shape[-1])


def gpt(dtype: torch.dtype) -> Experiment:
    """Next-token prediction with AdamW and gradient clipping."""
    model = Gpt().to(dtype)
    return Experiment(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1),
        inputs=lambda step: (tokens(step, (4, LENGTH + 1), VOCABULARY)[:, :-1],),
        labels=lambda step: tokens(step, (4, LENGTH + 1), VOCABULARY)[:, 1:],
        clip=1.0,
    )
