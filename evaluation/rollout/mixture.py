"""A trainer with experts for later pairs: a shared expert, sigmoid routing, a window, normed heads.

It is named and laid out as Megatron has it: grouped queries beside their key and value in one
weight, each expert a module of its own, the head tied to the embedding.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.rollout.trainer import Batch, turned

VOCABULARY, WIDTH, HEADS, GROUPS, HEAD, LAYERS = 80, 48, 4, 2, 16, 3
PER_GROUP = HEADS // GROUPS
EXPERTS, PICKED, HIDDEN, SHARED = 6, 2, 32, 40
ROUTED_SCALE = 2.5
WINDOW = 4  # tokens that odd layers look back at, themselves among them


def rms(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Each row by the root of its mean square, times a weight."""
    wide = x.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return (wide * scale).to(x.dtype) * weight


def window_of(layer: int) -> int | None:
    """How many tokens a layer looks back at; None for all."""
    return WINDOW if layer % 2 else None


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rms(x, self.weight)


class SelfAttention(nn.Module):
    def __init__(self, layer: int) -> None:
        super().__init__()
        self.linear_qkv = nn.Linear(WIDTH, GROUPS * (PER_GROUP + 2) * HEAD, bias=False)
        self.q_layernorm, self.k_layernorm = Norm(HEAD), Norm(HEAD)
        self.linear_proj = nn.Linear(HEADS * HEAD, WIDTH, bias=False)
        self.window = window_of(layer)

    def forward(
        self, x: torch.Tensor, positions: torch.Tensor, allowed: torch.Tensor
    ) -> torch.Tensor:
        places = positions.flatten()
        made = self.linear_qkv(x).reshape(len(places), GROUPS, PER_GROUP + 2, HEAD)
        q, k, v = made.split((PER_GROUP, 1, 1), 2)
        q, k = self.q_layernorm(q.flatten(1, 2)), self.k_layernorm(k.flatten(1, 2))
        q, k = turned(q, places), turned(k, places)
        k, v = (each.repeat_interleave(PER_GROUP, 1) for each in (k, v.flatten(1, 2)))
        if self.window is not None:
            allowed = allowed & (places[:, None] - places[None] < self.window)
        scores = torch.einsum("qhd,khd->hqk", q, k).float() / HEAD**0.5
        weights = scores.masked_fill(~allowed, float("-inf")).softmax(-1).to(x.dtype)
        mixed = torch.einsum("hqk,khd->qhd", weights, v)
        return self.linear_proj(mixed.reshape(*x.shape[:-1], -1))


class GatedMLP(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.linear_fc1 = nn.Linear(WIDTH, 2 * hidden, bias=False)
        self.linear_fc2 = nn.Linear(hidden, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.linear_fc1(x).chunk(2, -1)
        return self.linear_fc2(F.silu(gate) * up)


class Router(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(EXPERTS, WIDTH) / WIDTH**0.5)
        self.expert_bias = nn.Parameter(torch.zeros(EXPERTS))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = torch.sigmoid(F.linear(x.float(), self.weight.float()))
        picked = (scores + self.expert_bias.float()).topk(PICKED, -1).indices
        shares = scores.gather(-1, picked)
        return shares / shares.sum(-1, keepdim=True) * ROUTED_SCALE, picked


class MoE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.router, self.shared_experts = Router(), GatedMLP(SHARED)
        self.experts = nn.ModuleList(GatedMLP(HIDDEN) for _ in range(EXPERTS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, WIDTH)
        shares, picked = self.router(flat)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, places = torch.where(picked == number)
            if len(rows):
                made = expert(flat[rows]) * shares[rows, places, None].to(x.dtype)
                out.index_add_(0, rows, made)
        return (out + self.shared_experts(flat)).reshape(x.shape)


class Layer(nn.Module):
    def __init__(self, layer: int) -> None:
        super().__init__()
        self.input_layernorm, self.pre_mlp_layernorm = Norm(WIDTH), Norm(WIDTH)
        self.self_attention, self.mlp = SelfAttention(layer), MoE()

    def forward(
        self, x: torch.Tensor, positions: torch.Tensor, allowed: torch.Tensor
    ) -> torch.Tensor:
        x = x + self.self_attention(self.input_layernorm(x), positions, allowed)
        return x + self.mlp(self.pre_mlp_layernorm(x))


class MixtureModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer(n) for n in range(LAYERS))
        self.final_layernorm = Norm(WIDTH)

    def forward(self, batch: Batch, sequence_first: bool = False) -> torch.Tensor:
        positions, allowed = batch.positions, batch.allowed
        x = self.word_embeddings(batch.ids)
        if sequence_first:
            order = torch.arange(batch.ids.numel()).reshape(batch.ids.shape).T.flatten()
            x, positions = x.transpose(0, 1).contiguous(), positions.T
            allowed = allowed[order][:, order]
        for layer in self.layers:
            x = layer(x, positions, allowed)
        return F.linear(self.final_layernorm(x), self.word_embeddings.weight)


def trainer(dtype: torch.dtype) -> MixtureModel:
    """A trainer whose every weight is drawn."""
    torch.manual_seed(29)
    model = MixtureModel()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.to(dtype)
