"""The engine of the trainer with experts: stacked experts, packed rows, drafts and a cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.rollout import mixture as old
from evaluation.rollout.engine import Metadata, Share
from evaluation.rollout.mixture import (
    EXPERTS,
    GROUPS,
    HEAD,
    HEADS,
    HIDDEN,
    LAYERS,
    PER_GROUP,
    PICKED,
    ROUTED_SCALE,
    SHARED,
    VOCABULARY,
    WIDTH,
    rms,
    window_of,
)
from evaluation.rollout.trainer import turned

SLOTS = 32  # of a request in the cache
# Ids that a pass computes behind a share of it, and that are rejected: by pass and request.
Drafts = Mapping[tuple[int, int], tuple[int, ...]]
ATTENTION, MIXTURE = "model.layers.1.self_attn", "model.layers.1.mlp"
FAULTS: Mapping[str, tuple[str, str]] = {
    "window left out": (ATTENTION, "window"),
    "routed scale forgotten": (MIXTURE, "first"),
    "draft kept": (ATTENTION, "redone"),
    "shared expert forgotten": (MIXTURE, "first"),
    "routing not replayed": (MIXTURE, "first"),
    "shares by softmax": (MIXTURE, "first"),
    "query not normed": (ATTENTION, "second"),
    "key turned before its norm": (ATTENTION, "second"),
}


class RMSNorm(nn.Module):
    """Adds what a layer has to add to the residual, and keeps that apart."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(
        self, x: torch.Tensor, residual: torch.Tensor | None = None
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        total = x if residual is None else x + residual
        made = rms(total, self.weight)
        return made if residual is None else (made, total)


class Cache:
    """Keys and values by layer, request and position, and which are a rejected draft's."""

    def __init__(self, requests: int, dtype: torch.dtype) -> None:
        self.kept = torch.zeros(2, LAYERS, requests, SLOTS, GROUPS, HEAD, dtype=dtype)
        self.is_draft = torch.zeros(LAYERS, requests, SLOTS, dtype=torch.bool)

    def write(
        self, layer: int, told: Metadata, made: torch.Tensor, drafts: torch.Tensor, keep: bool
    ) -> None:
        """Put keys and values in their places; `keep` leaves those of a draft there."""
        where = told.requests, told.positions
        if keep:
            stays = self.is_draft[layer][where] & ~drafts
            made = torch.where(
                stays[None, :, None, None], self.kept[:, layer, where[0], where[1]], made
            )
        self.kept[:, layer, where[0], where[1]] = made
        self.is_draft[layer, where[0], where[1]] = drafts


class Attention(nn.Module):
    def __init__(self, layer: int, fault: str | None) -> None:
        super().__init__()
        self.layer, self.fault = layer, fault
        self.qkv_proj = nn.Linear(WIDTH, (HEADS + 2 * GROUPS) * HEAD, bias=False)
        self.q_norm, self.k_norm = RMSNorm(HEAD), RMSNorm(HEAD)
        self.o_proj = nn.Linear(HEADS * HEAD, WIDTH, bias=False)

    def forward(
        self, x: torch.Tensor, cache: Cache, told: Metadata, drafts: torch.Tensor
    ) -> torch.Tensor:
        sizes = (HEADS * HEAD, GROUPS * HEAD, GROUPS * HEAD)
        q, k, v = (each.reshape(len(x), -1, HEAD) for each in self.qkv_proj(x).split(sizes, -1))
        q = q if self.fault == "query not normed" else self.q_norm(q)
        q = turned(q, told.positions)
        if self.fault == "key turned before its norm":
            k = self.k_norm(turned(k, told.positions))
        else:
            k = turned(self.k_norm(k), told.positions)
        keep = self.fault == "draft kept"
        cache.write(self.layer, told, torch.stack((k, v)), drafts, keep)
        return self.o_proj(self._mixed(q, cache, told).flatten(1))

    def _mixed(self, q: torch.Tensor, cache: Cache, told: Metadata) -> torch.Tensor:
        window = None if self.fault == "window left out" else window_of(self.layer)
        made = []
        for row, (request, position) in enumerate(
            zip(told.requests.tolist(), told.positions.tolist())
        ):
            first = 0 if window is None else max(0, position + 1 - window)
            shown = cache.kept[:, self.layer, request, first : position + 1]
            keys, values = shown.repeat_interleave(PER_GROUP, 2)
            mixed = F.scaled_dot_product_attention(
                q[row, :, None], keys.transpose(0, 1), values.transpose(0, 1)
            )
            made.append(mixed[:, 0])
        return torch.stack(made)


class SharedMLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_up_proj = nn.Linear(WIDTH, 2 * SHARED, bias=False)
        self.down_proj = nn.Linear(SHARED, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.gate_up_proj(x).chunk(2, -1)
        return self.down_proj(F.silu(gate) * up)


class FusedMoE(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.e_score_correction_bias = nn.Parameter(torch.zeros(EXPERTS))
        self.w13_weight = nn.Parameter(torch.zeros(EXPERTS, 2 * HIDDEN, WIDTH))
        self.w2_weight = nn.Parameter(torch.zeros(EXPERTS, WIDTH, HIDDEN))
        self.shared_experts, self.fault = SharedMLP(), fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = self.gate(x).float()
        scores = logits.sigmoid()
        picked = (scores + self.e_score_correction_bias.float()).topk(PICKED, -1).indices
        if self.fault == "routing not replayed":
            picked = (picked + 1) % EXPERTS
        shares = (logits.softmax(-1) if self.fault == "shares by softmax" else scores).gather(
            -1, picked
        )
        shares = shares / shares.sum(-1, keepdim=True)
        shares = shares if self.fault == "routed scale forgotten" else shares * ROUTED_SCALE
        weights = torch.zeros(len(x), EXPERTS).scatter(1, picked, shares).to(x.dtype)
        gate, up = torch.einsum("td,ehd->teh", x, self.w13_weight).chunk(2, -1)
        made = torch.einsum("teh,edh->ted", F.silu(gate) * up, self.w2_weight)
        routed = torch.einsum("ted,te->td", made, weights)
        return (
            routed if self.fault == "shared expert forgotten" else routed + self.shared_experts(x)
        )


class DecoderLayer(nn.Module):
    def __init__(self, layer: int, fault: str | None) -> None:
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(WIDTH), RMSNorm(WIDTH)
        self.self_attn, self.mlp = Attention(layer, fault), FusedMoE(fault)

    def forward(
        self,
        x: torch.Tensor,
        residual: torch.Tensor | None,
        cache: Cache,
        told: Metadata,
        drafts: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if residual is None:
            residual, x = x, self.input_layernorm(x)
        else:
            x, residual = self.input_layernorm(x, residual)
        x = self.self_attn(x, cache, told, drafts)
        x, residual = self.post_attention_layernorm(x, residual)
        return self.mlp(x), residual


class Model(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(
            DecoderLayer(n, fault if n == 1 else None) for n in range(LAYERS)
        )
        self.norm = RMSNorm(WIDTH)

    def forward(
        self, input_ids: torch.Tensor, cache: Cache, told: Metadata, drafts: torch.Tensor
    ) -> torch.Tensor:
        x, residual = self.embed_tokens(input_ids), None
        for layer in self.layers:
            x, residual = layer(x, residual, cache, told, drafts)
        made: torch.Tensor = self.norm(x, residual)[0]
        return made


class MixtureEngine(nn.Module):
    """The model, and its head over all rows: drafts are judged by theirs."""

    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.model = Model(fault)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.lm_head.weight = self.model.embed_tokens.weight

    def forward(
        self, input_ids: torch.Tensor, cache: Cache, told: Metadata, drafts: torch.Tensor
    ) -> torch.Tensor:
        return self.lm_head(self.model(input_ids, cache, told, drafts))


def fed(
    sequences: Sequence[Sequence[int]], shares: Sequence[Share], number: int, drafts: Drafts
) -> tuple[torch.Tensor, Metadata, torch.Tensor]:
    """The ids of a pass, what is known of its rows, and which rows are rejected drafts."""
    rows: list[tuple[int, int, int, bool]] = []  # id, request, position
    for request, start, stop in shares:
        rows += [(sequences[request][at], request, at, False) for at in range(start, stop)]
        ids = drafts.get((number, request), ())
        rows += [(each, request, stop + at, True) for at, each in enumerate(ids)]
    ids, requests, positions, rejected = (torch.tensor(column) for column in zip(*rows))
    return ids, Metadata(requests, positions, bool((positions > 0).all()), number), rejected


@torch.no_grad()
def engine(was: old.MixtureModel, dtype: torch.dtype, fault: str | None) -> MixtureEngine:
    """The engine with the weights of a trainer, in a format of its own."""
    made = MixtureEngine(fault).to(dtype)
    made.model.embed_tokens.weight.copy_(was.word_embeddings.weight)
    made.model.norm.weight.copy_(was.final_layernorm.weight)
    for new, layer in zip(made.model.layers, was.layers):
        attention, mlp = layer.self_attention, layer.mlp
        fused = attention.linear_qkv.weight.unflatten(0, (GROUPS, PER_GROUP + 2, HEAD))
        parts = [part.flatten(0, 2) for part in fused.split((PER_GROUP, 1, 1), 1)]
        for target, value in (
            (new.self_attn.qkv_proj.weight, torch.cat(parts)),
            (new.self_attn.q_norm.weight, attention.q_layernorm.weight),
            (new.self_attn.k_norm.weight, attention.k_layernorm.weight),
            (new.self_attn.o_proj.weight, attention.linear_proj.weight),
            (new.input_layernorm.weight, layer.input_layernorm.weight),
            (new.post_attention_layernorm.weight, layer.pre_mlp_layernorm.weight),
            (new.mlp.gate.weight, mlp.router.weight),
            (new.mlp.e_score_correction_bias, mlp.router.expert_bias),
            (new.mlp.w13_weight, torch.stack([e.linear_fc1.weight for e in mlp.experts])),
            (new.mlp.w2_weight, torch.stack([e.linear_fc2.weight for e in mlp.experts])),
            (new.mlp.shared_experts.gate_up_proj.weight, mlp.shared_experts.linear_fc1.weight),
            (new.mlp.shared_experts.down_proj.weight, mlp.shared_experts.linear_fc2.weight),
        ):
            target.copy_(value)
    return made
