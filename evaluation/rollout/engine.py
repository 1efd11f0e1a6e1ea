"""The engine: packed rows, fused weights, a cache; each forward pass has its share of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.rollout import trainer as old
from evaluation.rollout.trainer import (
    EPSILON,
    EXPERTS,
    GROUPS,
    HEAD,
    HEADS,
    HIDDEN,
    LAYERS,
    PICKED,
    VOCABULARY,
    WIDTH,
    turned,
)

SLOTS = 128  # of a request in the cache


@dataclass
class Metadata:
    """Which rows of a forward pass are of which request, and at which positions."""

    requests: torch.Tensor
    positions: torch.Tensor
    is_decode: bool
    number: int


@dataclass
class Cache:
    """Keys and values by layer, request and position."""

    keys: torch.Tensor
    values: torch.Tensor

    def keep(self, donor: int, request: int, length: int) -> None:
        """Let a request begin with what another one has computed of the same tokens."""
        for kept in (self.keys, self.values):
            kept[:, request, :length] = kept[:, donor, :length]


class RMSNorm(nn.Module):
    """Adds what a layer has to add to the residual, and keeps that apart."""

    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.weight, self.fault = nn.Parameter(torch.ones(WIDTH)), fault

    def forward(
        self, x: torch.Tensor, residual: torch.Tensor | None = None
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        total = x if residual is None else x + residual
        epsilon = 0.1 if self.fault == "epsilon" else EPSILON
        wide = total.to(torch.float8_e4m3fn).float() if self.fault == "precision" else total.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)
        made = (wide * scale).to(x.dtype) * self.weight
        return made if residual is None else (made, total)


class Attention(nn.Module):
    def __init__(self, layer: int, fault: str | None) -> None:
        super().__init__()
        self.layer, self.fault = layer, fault
        self.qkv_proj = nn.Linear(WIDTH, WIDTH + 2 * GROUPS * HEAD, bias=False)
        self.o_proj = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(
        self, positions: torch.Tensor, x: torch.Tensor, cache: Cache, told: Metadata
    ) -> torch.Tensor:
        sizes = (WIDTH, GROUPS * HEAD, GROUPS * HEAD)
        q, k, v = (each.reshape(len(x), -1, HEAD) for each in self.qkv_proj(x).split(sizes, -1))
        if self.fault == "key not turned":
            q = turned(q, positions)
        else:
            q, k = turned(q, positions), turned(k, positions)
        if self.fault == "superfluous rotation":
            v = turned(v, positions)
        cache.keys[self.layer, told.requests, told.positions] = k
        cache.values[self.layer, told.requests, told.positions] = v
        if self.fault == "cache overwritten" and told.is_decode:
            # The second request writes to a slot of the first.
            cache.values[self.layer, told.requests[0], 1] = v[-1]
        return self.o_proj(self._mixed(q, cache, told).reshape(x.shape))

    def _mixed(self, q: torch.Tensor, cache: Cache, told: Metadata) -> torch.Tensor:
        made = []
        scale = 1.0 / HEAD if self.fault == "scale" else HEAD**-0.5
        for row, (request, position) in enumerate(
            zip(told.requests.tolist(), told.positions.tolist())
        ):
            first = 1 if self.fault == "first key masked" and position else 0
            keys = cache.keys[self.layer, request, first : position + 1]
            values = cache.values[self.layer, request, first : position + 1]
            keys, values = (e.repeat_interleave(HEADS // GROUPS, 1) for e in (keys, values))
            scores = torch.einsum("hd,khd->hk", q[row], keys).float() * scale
            weights = scores.softmax(-1).to(q.dtype)
            made.append(torch.einsum("hk,khd->hd", weights, values))
        return torch.stack(made)


class MLP(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.gate_up_proj = nn.Linear(WIDTH, 2 * HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.gate_up_proj(x).chunk(2, -1)
        if self.fault == "halves swapped":
            gate, up = up, gate
        act = F.gelu if self.fault == "another activation" else F.silu
        return self.down_proj(act(gate) * up)


class FusedMoE(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.w13 = nn.Parameter(torch.zeros(EXPERTS, 2 * HIDDEN, WIDTH))
        self.w2 = nn.Parameter(torch.zeros(EXPERTS, WIDTH, HIDDEN))
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chosen, picked = self.gate(x).float().topk(PICKED, -1)
        if self.fault == "routing not replayed":
            picked = (picked + 1) % EXPERTS
        if self.fault == "one token routed otherwise" and len(x) > PICKED:
            picked[-1] = (picked[-1] + 1) % EXPERTS
        shares = chosen.softmax(-1)
        if self.fault == "shares not normalised":
            shares = self.gate(x).float().softmax(-1).gather(-1, picked)
        weights = torch.zeros(len(x), EXPERTS).scatter(1, picked, shares).to(x.dtype)
        gate, up = torch.einsum("td,ehd->teh", x, self.w13).chunk(2, -1)
        if self.fault == "halves swapped":
            gate, up = up, gate
        made = torch.einsum("teh,edh->ted", F.silu(gate) * up, self.w2)
        return torch.einsum("ted,te->td", made, weights)


class DecoderLayer(nn.Module):
    def __init__(
        self, layer: int, is_sparse: bool, keeps_residual: bool, fault: str | None
    ) -> None:
        super().__init__()
        self.keeps_residual = keeps_residual
        of_norm = fault if fault in ("epsilon", "precision") else None
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(None), RMSNorm(of_norm)
        self.self_attn = Attention(layer, fault)
        self.mlp = FusedMoE(fault) if is_sparse else MLP(fault)
        self.fault = fault

    def forward(
        self,
        positions: torch.Tensor,
        x: torch.Tensor,
        residual: torch.Tensor | None,
        cache: Cache,
        told: Metadata,
    ) -> tuple[torch.Tensor, torch.Tensor] | torch.Tensor:
        if not self.keeps_residual:
            x = x + self.self_attn(positions, self.input_layernorm(x), cache, told)
            return x + self.mlp(self.post_attention_layernorm(x))
        if residual is None:
            residual, x = x, self.input_layernorm(x)
        else:
            x, residual = self.input_layernorm(x, residual)
        x = self.self_attn(positions, x, cache, told)
        x, residual = self.post_attention_layernorm(x, residual)
        return self.mlp(x), residual


class Model(nn.Module):
    def __init__(self, is_sparse: bool, keeps_residual: bool, fault: str | None) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(
            DecoderLayer(n, is_sparse, keeps_residual, fault if n == 1 else None)
            for n in range(LAYERS)
        )
        self.norm, self.keeps_residual = RMSNorm(None), keeps_residual

    def forward(
        self, input_ids: torch.Tensor, positions: torch.Tensor, cache: Cache, told: Metadata
    ) -> torch.Tensor:
        x, residual = self.embed_tokens(input_ids), None
        for layer in self.layers:
            if self.keeps_residual:
                x, residual = layer(positions, x, residual, cache, told)
            else:
                x = layer(positions, x, None, cache, told)
        return self.norm(x, residual)[0] if self.keeps_residual else self.norm(x)


class Engine(nn.Module):
    """A model that is asked for the next token of some requests."""

    def __init__(self, is_sparse: bool, keeps_residual: bool, fault: str | None) -> None:
        super().__init__()
        self.model = Model(is_sparse, keeps_residual, fault)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.fault = fault

    def forward(self, input_ids: torch.Tensor, cache: Cache, told: Metadata) -> torch.Tensor:
        positions = told.positions
        if self.fault == "positions off in decode" and told.is_decode:
            positions = positions + 1
        x = self.model(input_ids, positions, cache, told)
        last = torch.tensor(
            [
                row
                for row, r in enumerate(told.requests.tolist())
                if r not in told.requests[row + 1 :]
            ]
        )
        return self.lm_head(x[last])


Share = tuple[int, int, int]  # of a forward pass: a request, and its tokens from … to …


def fed(sequences: Sequence[Sequence[int]], shares: Sequence[Share]) -> torch.Tensor:
    """The ids of a forward pass."""
    return torch.tensor([token for r, a, b in shares for token in sequences[r][a:b]])


def metadata(shares: Sequence[Share], number: int) -> Metadata:
    """What the engine knows of a forward pass."""
    requests = torch.tensor([request for request, a, b in shares for _ in range(a, b)])
    positions = torch.cat([torch.arange(a, b) for _, a, b in shares])
    is_decode = all(b - a == 1 and a > 0 for _, a, b in shares)
    return Metadata(requests, positions, is_decode, number)


def empty_cache(requests: int, dtype: torch.dtype) -> Cache:
    """A cache for some requests."""
    shape = (LAYERS, requests, SLOTS, GROUPS, HEAD)
    return Cache(torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype))


@torch.no_grad()
def engine(model: old.CausalLM, keeps_residual: bool, fault: str | None) -> Engine:
    """The engine with the weights of a trainer."""
    is_sparse = isinstance(model.model.layers[0].mlp, old.SparseMoe)
    made = Engine(is_sparse, keeps_residual, fault).to(model.lm_head.weight.dtype)
    made.model.embed_tokens.weight.copy_(model.model.embed_tokens.weight)
    made.model.norm.weight.copy_(model.model.norm.weight)
    made.lm_head.weight.copy_(model.lm_head.weight)
    for number, (new, was) in enumerate(zip(made.model.layers, model.model.layers)):
        new.input_layernorm.weight.copy_(was.input_layernorm.weight)
        new.post_attention_layernorm.weight.copy_(was.post_attention_layernorm.weight)
        parts = (was.self_attn.q_proj, was.self_attn.k_proj, was.self_attn.v_proj)
        new.self_attn.qkv_proj.weight.copy_(torch.cat([part.weight for part in parts]))
        new.self_attn.o_proj.weight.copy_(was.self_attn.o_proj.weight)
        if is_sparse:
            new.mlp.gate.weight.copy_(was.mlp.gate.weight)
            for place, expert in enumerate(was.mlp.experts):
                new.mlp.w13[place].copy_(torch.cat((expert.w1.weight, expert.w3.weight)))
                new.mlp.w2[place].copy_(expert.w2.weight)
        else:
            both = (was.mlp.gate_proj.weight, was.mlp.up_proj.weight)
            new.mlp.gate_up_proj.weight.copy_(torch.cat(both))
            new.mlp.down_proj.weight.copy_(was.mlp.down_proj.weight)
            if fault == "scale forgotten" and number == 1:
                new.mlp.down_proj.weight.mul_(1.1)
    return made
