"""Latent attention that makes keys and values of its latents; its port attends to the latents.

The port multiplies the query by what makes keys, and what it mixed by what makes values (weights
absorbed), so no key or value of a head is ever made. Down projections are one weight.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.decoder import MLP, WIDTH, FusedFeedForward, RMSNorm
from evaluation.ports.port import Port, taken

VOCABULARY, HEADS, LAYERS, LENGTH = 72, 3, 2, 10
CONTENT, TURNED, VALUE, QUERY_RANK, RANK = 12, 8, 10, 20, 16
SCALE = (CONTENT + TURNED) ** -0.5


def turned(x: torch.Tensor) -> torch.Tensor:
    """Rotary positions by halves over [..., tokens, TURNED]."""
    rates = 50.0 ** (-torch.arange(0, TURNED, 2) / TURNED)
    angle = torch.outer(torch.arange(x.shape[-2]).float(), rates).repeat(1, 2)
    left, right = x.float().chunk(2, -1)
    return (x.float() * angle.cos() + torch.cat((-right, left), -1) * angle.sin()).to(x.dtype)


class LatentNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-6)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_a_proj = nn.Linear(WIDTH, QUERY_RANK, bias=False)
        self.q_a_norm, self.kv_a_norm = LatentNorm(QUERY_RANK), LatentNorm(RANK)
        self.q_b_proj = nn.Linear(QUERY_RANK, HEADS * (CONTENT + TURNED), bias=False)
        self.kv_a_proj = nn.Linear(WIDTH, RANK + TURNED, bias=False)
        self.kv_b_proj = nn.Linear(RANK, HEADS * (CONTENT + VALUE), bias=False)
        self.o_proj = nn.Linear(HEADS * VALUE, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.q_b_proj(self.q_a_norm(self.q_a_proj(x)))
        q = q.unflatten(-1, (HEADS, -1)).transpose(1, 2)
        q_content, q_turned = q.split((CONTENT, TURNED), -1)
        latent, k_turned = self.kv_a_proj(x).split((RANK, TURNED), -1)
        kv = self.kv_b_proj(self.kv_a_norm(latent)).unflatten(-1, (HEADS, -1)).transpose(1, 2)
        k_content, v = kv.split((CONTENT, VALUE), -1)
        shared = turned(k_turned)[:, None].expand(-1, HEADS, -1, -1)
        q, k = torch.cat((q_content, turned(q_turned)), -1), torch.cat((k_content, shared), -1)
        scores = q @ k.transpose(-1, -2) * SCALE
        ahead = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        weights = scores.masked_fill(ahead, -1e9).float().softmax(-1).to(x.dtype)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2, self.self_attn, self.mlp = RMSNorm(), RMSNorm(), Attention(), MLP()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Latent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm = nn.Embedding(VOCABULARY, WIDTH), RMSNorm()
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


# --- the port -----------------------------------------------------------------------------------


class AbsorbedAttention(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.down = nn.Linear(WIDTH, QUERY_RANK + RANK + TURNED, bias=False)
        self.query_norm, self.latent_norm = LatentNorm(QUERY_RANK), LatentNorm(RANK)
        self.up = nn.Linear(QUERY_RANK, HEADS * (CONTENT + TURNED), bias=False)
        self.to_key = nn.Parameter(torch.zeros(HEADS, CONTENT, RANK))
        self.to_value = nn.Parameter(torch.zeros(HEADS, VALUE, RANK))
        self.out, self.fault = nn.Linear(HEADS * VALUE, WIDTH, bias=False), fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, latent, key = self.down(x).split((QUERY_RANK, RANK, TURNED), -1)
        q = self.up(self.query_norm(q)).unflatten(-1, (HEADS, -1)).transpose(1, 2)
        content, rotary = q.split((CONTENT, TURNED), -1)
        latent = self.latent_norm(latent)
        absorbed = torch.einsum("bhqc,hcr->bhqr", content, self.to_key)
        scores = torch.einsum("bhqr,bkr->bhqk", absorbed, latent)
        key = key if self.fault == "key not turned" else turned(key)
        scores = scores + torch.einsum("bhqt,bkt->bhqk", turned(rotary), key)
        scale = CONTENT**-0.5 if self.fault == "scale of the content" else SCALE
        bias = torch.full(scores.shape[-2:], float("-inf")).triu(1)
        weights = (scores.float() * scale + bias).softmax(-1).to(x.dtype)
        mixed = torch.einsum("bhqk,bkr->bhqr", weights, latent)
        made = torch.einsum("bhqr,hvr->bqhv", mixed, self.to_value)
        return self.out(made.flatten(2))


class Block(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.RMSNorm(WIDTH, eps=1e-5), nn.RMSNorm(WIDTH, eps=1e-5)
        self.attn, self.ffn = AbsorbedAttention(fault), FusedFeedForward(None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class Absorbed(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.words, self.final = nn.Embedding(VOCABULARY, WIDTH), nn.RMSNorm(WIDTH, eps=1e-5)
        self.h = nn.ModuleList(Block(fault if n == 1 else None) for n in range(LAYERS))
        self.out = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens)
        for block in self.h:
            x = block(x)
        return self.out(self.final(x))


def _take(new: Block, old: Layer) -> None:
    was, attn = old.self_attn, new.attn
    taken(attn.down.weight, torch.cat((was.q_a_proj.weight, was.kv_a_proj.weight)))
    keys, values = was.kv_b_proj.weight.unflatten(0, (HEADS, -1)).split((CONTENT, VALUE), 1)
    pairs = [
        *((attn.to_key, keys), (attn.to_value, values)),
        (new.ffn.w13.weight, torch.cat((old.mlp.gate_proj.weight, old.mlp.up_proj.weight))),
        (new.ffn.w2.weight, old.mlp.down_proj.weight),
        *((attn.up.weight, was.q_b_proj.weight), (attn.out.weight, was.o_proj.weight)),
        (attn.query_norm.weight, was.q_a_norm.weight),
        (attn.latent_norm.weight, was.kv_a_norm.weight),
        *((new.ln1.weight, old.norm1.weight), (new.ln2.weight, old.norm2.weight)),
    ]
    for target, value in pairs:
        taken(target, value)


def ported(was: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(was, Latent)
    port = Absorbed(fault).to(was.head.weight.dtype)
    for new, old in zip(port.h, was.layers):
        assert isinstance(new, Block) and isinstance(old, Layer)
        _take(new, old)
    taken(port.words.weight, was.embed.weight)
    taken(port.final.weight, was.norm.weight)
    taken(port.out.weight, was.head.weight)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(6)
    tokens = torch.randint(0, VOCABULARY, (2, LENGTH + 1))
    logits = model(tokens[:, :-1]).float()
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


PORT = Port(
    "latent-attention",
    Latent,
    ported,
    loss,
    {"key not turned": "h.1.attn", "scale of the content": "h.1.attn"},
)
