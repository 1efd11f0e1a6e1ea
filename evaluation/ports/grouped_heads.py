"""Grouped queries beside their key and value in one weight; its port has three.

The original is sequence first, keeps a scale a head for queries and keys, and turns half of each
head. The port has batches first, separate projections, and turns pairs that stand side by side.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

VOCABULARY, WIDTH, HEADS, GROUPS, HIDDEN, LAYERS, LENGTH = 68, 48, 6, 3, 64, 2, 11
HEAD, PER_GROUP = WIDTH // HEADS, HEADS // GROUPS
TURNED = HEAD // 2


def angles(length: int) -> torch.Tensor:
    rates = 80.0 ** (-torch.arange(0, TURNED, 2) / TURNED)
    return torch.outer(torch.arange(length).float(), rates)


def turned_halves(x: torch.Tensor) -> torch.Tensor:
    """The first TURNED of each head, by halves; x is [tokens, batch, heads, head]."""
    angle = angles(len(x)).repeat(1, 2)[:, None, None]
    part, rest = x.float().split((TURNED, HEAD - TURNED), -1)
    left, right = part.chunk(2, -1)
    made = part * angle.cos() + torch.cat((-right, left), -1) * angle.sin()
    return torch.cat((made, rest), -1).to(x.dtype)


class HeadNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HEAD))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, (HEAD,), self.weight, 1e-6)


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear_qkv = nn.Linear(WIDTH, GROUPS * (PER_GROUP + 2) * HEAD)
        self.q_layernorm, self.k_layernorm = HeadNorm(), HeadNorm()
        self.linear_proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.linear_qkv(x).unflatten(-1, (GROUPS, PER_GROUP + 2, HEAD))
        q, k, v = made.split((PER_GROUP, 1, 1), 3)
        q, k = self.q_layernorm(q.flatten(2, 3)), self.k_layernorm(k.flatten(2, 3))
        q, k = turned_halves(q), turned_halves(k)
        k, v = (each.repeat_interleave(PER_GROUP, 2) for each in (k, v.flatten(2, 3)))
        scores = torch.einsum("qbhd,kbhd->bhqk", q, k).float() / HEAD**0.5
        ahead = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        weights = scores.masked_fill(ahead, -10000.0).softmax(-1).to(x.dtype)
        return self.linear_proj(torch.einsum("bhqk,kbhd->qbhd", weights, v).flatten(2))


class GatedMLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear_fc1 = nn.Linear(WIDTH, 2 * HIDDEN)
        self.linear_fc2 = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.linear_fc1(x).chunk(2, -1)
        return self.linear_fc2(F.silu(gate) * up)


class TransformerLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm, self.pre_mlp_layernorm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.self_attention, self.mlp = SelfAttention(), GatedMLP()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attention(self.input_layernorm(x))
        return x + self.mlp(self.pre_mlp_layernorm(x))


class MegatronModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(TransformerLayer() for _ in range(LAYERS))
        self.final_layernorm = nn.LayerNorm(WIDTH)
        self.output_layer = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.word_embeddings(tokens).transpose(0, 1).contiguous()
        for layer in self.layers:
            x = layer(x)
        return self.output_layer(self.final_layernorm(x)).transpose(0, 1).contiguous()


# --- the port -----------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.q_proj = nn.Linear(WIDTH, WIDTH)
        self.k_proj, self.v_proj = (nn.Linear(WIDTH, GROUPS * HEAD) for _ in range(2))
        self.q_norm, self.k_norm = nn.RMSNorm(HEAD, eps=1e-6), nn.RMSNorm(HEAD, eps=1e-6)
        self.o_proj, self.fault = nn.Linear(WIDTH, WIDTH), fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            part(x).unflatten(-1, (-1, HEAD)) for part in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = self._turned(self.q_norm(q)), self._turned(self.k_norm(k))
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        if self.fault == "groups in turn":  # head 0 of each group first
            k, v = (each.repeat(1, PER_GROUP, 1, 1) for each in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))

    def _turned(self, x: torch.Tensor) -> torch.Tensor:
        many = HEAD if self.fault == "all of the head turned" else TURNED
        angle = angles(x.shape[1])
        angle = angle.repeat(1, many // TURNED)[None, :, None]
        part, rest = x.float()[..., :many], x.float()[..., many:]
        left, right = part.chunk(2, -1)
        first = left * angle.cos() - right * angle.sin()
        second = right * angle.cos() + left * angle.sin()
        return torch.cat((first, second, rest), -1).to(x.dtype)


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(WIDTH, HIDDEN) for _ in range(2))
        self.down_proj = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class DecoderLayer(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.self_attn, self.mlp = Attention(fault), MLP()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Separate(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.embed_tokens, self.norm = nn.Embedding(VOCABULARY, WIDTH), nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(DecoderLayer(fault if n == 1 else None) for n in range(LAYERS))
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


def _take(new: DecoderLayer, old: TransformerLayer) -> None:
    was, attn = old.self_attention, new.self_attn
    for name in ("weight", "bias"):
        fused = getattr(was.linear_qkv, name).unflatten(0, (GROUPS, PER_GROUP + 2, HEAD))
        for target, part in zip(
            (attn.q_proj, attn.k_proj, attn.v_proj), fused.split((PER_GROUP, 1, 1), 1)
        ):
            taken(getattr(target, name), part.flatten(0, 2))
        both = getattr(old.mlp.linear_fc1, name).chunk(2)
        for target, part in zip((new.mlp.gate_proj, new.mlp.up_proj), both):
            taken(getattr(target, name), part)
    taken(attn.q_norm.weight, was.q_layernorm.weight)
    taken(attn.k_norm.weight, was.k_layernorm.weight)
    attn.o_proj.load_state_dict(was.linear_proj.state_dict())
    new.mlp.down_proj.load_state_dict(old.mlp.linear_fc2.state_dict())
    new.norm1.load_state_dict(old.input_layernorm.state_dict())
    new.norm2.load_state_dict(old.pre_mlp_layernorm.state_dict())


def ported(was: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(was, MegatronModel)
    port = Separate(fault).to(was.output_layer.weight.dtype)
    for new, old in zip(port.layers, was.layers):
        assert isinstance(new, DecoderLayer) and isinstance(old, TransformerLayer)
        _take(new, old)
    taken(port.embed_tokens.weight, was.word_embeddings.weight)
    port.norm.load_state_dict(was.final_layernorm.state_dict())
    taken(port.lm_head.weight, was.output_layer.weight)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(12)
    tokens = torch.randint(0, VOCABULARY, (2, LENGTH + 1))
    logits = model(tokens[:, :-1]).float()
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


PORT = Port(
    "grouped-heads",
    MegatronModel,
    ported,
    loss,
    {
        "groups in turn": "layers.1.self_attn",
        "all of the head turned": "layers.1.self_attn",
    },
)
