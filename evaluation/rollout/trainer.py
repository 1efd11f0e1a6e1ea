"""The trainer: a decoder over whole sequences, padded, packed or with the sequence in front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, HEADS, GROUPS, HIDDEN, LAYERS = 90, 64, 4, 2, 96, 3
EXPERTS, PICKED = 4, 2
HEAD = WIDTH // HEADS
PADDING = 0
EPSILON = 1e-5


@dataclass(frozen=True)
class Batch:
    """What a forward pass is fed: ids and positions alike; `allowed` says who may look at whom.

    `allowed` is over all rows in the order of the ids, flat: rows × rows.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    allowed: torch.Tensor


def padded(sequences: Sequence[Sequence[int]], left: bool) -> Batch:
    """One line a sequence, with padding in front of it or behind it."""
    longest = max(map(len, sequences)) + 1
    ids = torch.full((len(sequences), longest), PADDING)
    positions, owner = torch.zeros_like(ids), torch.full_like(ids, -1)
    for number, sequence in enumerate(sequences):
        start = longest - len(sequence) if left else 0
        ids[number, start : start + len(sequence)] = torch.tensor(sequence)
        positions[number, start : start + len(sequence)] = torch.arange(len(sequence))
        owner[number, start : start + len(sequence)] = number
    return Batch(ids, positions, _allowed(owner.flatten(), positions.flatten()))


def packed(sequences: Sequence[Sequence[int]]) -> Batch:
    """All sequences behind one another in one line."""
    ids = torch.tensor([token for sequence in sequences for token in sequence])
    positions = torch.cat([torch.arange(len(sequence)) for sequence in sequences])
    owner = torch.cat([torch.full((len(s),), n) for n, s in enumerate(sequences)])
    return Batch(ids[None], positions[None], _allowed(owner, positions))


def _allowed(owner: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    same = owner[:, None] == owner[None]
    own = torch.eye(len(owner), dtype=torch.bool)
    return same & (positions[:, None] >= positions[None]) | own


def turned(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Rotary positions by halves; x is rows × heads × HEAD."""
    frequencies = 100.0 ** (-torch.arange(0, HEAD, 2) / HEAD)
    angle = (positions.float()[:, None] * frequencies).repeat(1, 2)[:, None]
    left, right = x.float().chunk(2, -1)
    return (x.float() * angle.cos() + torch.cat((-right, left), -1) * angle.sin()).to(x.dtype)


class RMSNorm(nn.Module):
    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + EPSILON)
        return (x.float() * scale).to(x.dtype) * self.weight


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k_proj = nn.Linear(WIDTH, GROUPS * HEAD, bias=False)
        self.v_proj = nn.Linear(WIDTH, GROUPS * HEAD, bias=False)
        self.o_proj = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(
        self, x: torch.Tensor, positions: torch.Tensor, allowed: torch.Tensor
    ) -> torch.Tensor:
        flat = positions.flatten()
        q, k, v = (
            projection(x).reshape(len(flat), -1, HEAD)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = turned(q, flat), turned(k, flat)
        k, v = (each.repeat_interleave(HEADS // GROUPS, 1) for each in (k, v))
        scores = torch.einsum("qhd,khd->hqk", q, k).float() / HEAD**0.5
        weights = scores.masked_fill(~allowed, float("-inf")).softmax(-1).to(x.dtype)
        return self.o_proj(torch.einsum("hqk,khd->qhd", weights, v).reshape(x.shape))


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Expert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.w3 = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.w2 = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class SparseMoe(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, WIDTH)
        weights, picked = torch.topk(self.gate(flat).float().softmax(-1), PICKED)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, places = torch.where(picked == number)
            out.index_add_(0, rows, expert(flat[rows]) * weights[rows, places, None])
        return out.reshape(x.shape)


class DecoderLayer(nn.Module):
    def __init__(self, is_sparse: bool) -> None:
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(), RMSNorm()
        self.self_attn = Attention()
        self.mlp = SparseMoe() if is_sparse else MLP()

    def forward(
        self, x: torch.Tensor, positions: torch.Tensor, allowed: torch.Tensor
    ) -> torch.Tensor:
        x = x + self.self_attn(self.input_layernorm(x), positions, allowed)
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    def __init__(self, is_sparse: bool) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(DecoderLayer(is_sparse) for _ in range(LAYERS))
        self.norm = RMSNorm()

    def forward(self, batch: Batch, sequence_first: bool) -> torch.Tensor:
        positions, allowed = batch.positions, batch.allowed
        x = self.embed_tokens(batch.ids)
        if sequence_first:  # as Megatron has it
            order = torch.arange(batch.ids.numel()).reshape(batch.ids.shape).T.flatten()
            x, positions = x.transpose(0, 1).contiguous(), positions.T
            allowed = allowed[order][:, order]
        for layer in self.layers:
            x = layer(x, positions, allowed)
        return self.norm(x)


class CausalLM(nn.Module):
    def __init__(self, is_sparse: bool) -> None:
        super().__init__()
        self.model = Model(is_sparse)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, batch: Batch, sequence_first: bool = False) -> torch.Tensor:
        return self.lm_head(self.model(batch, sequence_first))


def trainer(is_sparse: bool, dtype: torch.dtype) -> CausalLM:
    """A trainer whose every weight is drawn."""
    torch.manual_seed(11)
    model = CausalLM(is_sparse)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.to(dtype)
