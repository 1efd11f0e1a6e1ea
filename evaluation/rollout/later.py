"""Pairs that were written when the code was done: another model, another trainer, another engine.

The trainer is of Megatron's kind: the sequence in front, heads interleaved in one projection, the
head tied to the embedding. The engine is of a library's `generate`: lines with padding in front,
transposed weights, a cache that is cut off behind what was computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.rollout.trainer import Batch

VOCABULARY, WIDTH, HEADS, LAYERS, LONGEST = 70, 48, 3, 3, 24
HEAD = WIDTH // HEADS
FAULTS: Mapping[str, tuple[str, str]] = {
    "another activation": ("transformer.h.1.mlp", "first"),
    "bias forgotten": ("transformer.h.1.mlp.c_proj", "first"),
    "norm without mean": ("transformer.h.1.ln_2", "first"),
    "scale": ("transformer.h.1.attn", "second"),
    "padding attended": ("transformer.h.1.attn", "padded"),
    "cache shifted": ("transformer.h.1.attn", "decoded"),
    "no residual": ("transformer.h.1", "first"),
}


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear_qkv, self.linear_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
        made = self.linear_qkv(x).reshape(-1, HEADS, 3, HEAD)
        q, k, v = made.unbind(2)
        scores = torch.einsum("qhd,khd->hqk", q, k).float() / HEAD**0.5
        weights = scores.masked_fill(~allowed, float("-inf")).softmax(-1).to(x.dtype)
        return self.linear_proj(torch.einsum("hqk,khd->qhd", weights, v).reshape(x.shape))


class TrainerMLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear_fc1, self.linear_fc2 = nn.Linear(WIDTH, 96), nn.Linear(96, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear_fc2(F.gelu(self.linear_fc1(x)))


class TransformerLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm, self.pre_mlp_layernorm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.self_attention, self.mlp = SelfAttention(), TrainerMLP()

    def forward(self, x: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attention(self.input_layernorm(x), allowed)
        return x + self.mlp(self.pre_mlp_layernorm(x))


class MegatronGPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.position_embeddings = nn.Embedding(LONGEST, WIDTH)
        self.word_embeddings = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(TransformerLayer() for _ in range(LAYERS))
        self.final_layernorm = nn.LayerNorm(WIDTH)

    def forward(self, batch: Batch, sequence_first: bool = True) -> torch.Tensor:
        positions = self.position_embeddings(batch.positions)
        x = self.word_embeddings(batch.ids) + positions
        allowed = batch.allowed
        if sequence_first:
            order = torch.arange(batch.ids.numel()).reshape(batch.ids.shape).T.flatten()
            x, allowed = x.transpose(0, 1).contiguous(), allowed[order][:, order]
        for layer in self.layers:
            x = layer(x, allowed)
        return F.linear(self.final_layernorm(x), self.word_embeddings.weight)


# --- the engine -----------------------------------------------------------------------------------


class Conv1D(nn.Module):
    def __init__(self, out: int, into: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(into, out))
        self.bias = nn.Parameter(torch.zeros(out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight + self.bias


@dataclass
class Past:
    """Keys and values of all lines by layer, and which of their places are no padding."""

    keys: dict[int, torch.Tensor]
    values: dict[int, torch.Tensor]
    is_token: torch.Tensor


class Attention(nn.Module):
    def __init__(self, layer: int, fault: str | None) -> None:
        super().__init__()
        self.layer, self.fault = layer, fault
        self.c_attn, self.c_proj = Conv1D(3 * WIDTH, WIDTH), Conv1D(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, past: Past) -> torch.Tensor:
        lines, length, _ = x.shape
        q, k, v = (e.reshape(lines, length, HEADS, HEAD) for e in self.c_attn(x).split(WIDTH, -1))
        if self.layer in past.keys:
            k = torch.cat((past.keys[self.layer], k), 1)
            v = torch.cat((past.values[self.layer], v), 1)
        past.keys[self.layer], past.values[self.layer] = k, v
        if self.fault == "cache shifted" and length == 1:
            v = v.roll(1, 1)
        total = k.shape[1]
        scale = 1.0 / HEAD if self.fault == "scale" else HEAD**-0.5
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k).float() * scale
        late = torch.arange(total)[None] <= torch.arange(total - length, total)[:, None]
        shown = late[None] & (past.is_token[:, None, :total] | torch.eye(total)[-length:].bool())
        if self.fault == "padding attended":
            shown = late[None].expand(lines, -1, -1)
        weights = scores.masked_fill(~shown[:, None], float("-inf")).softmax(-1).to(x.dtype)
        return self.c_proj(torch.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape))


class MLP(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.c_fc, self.c_proj, self.fault = Conv1D(96, WIDTH), Conv1D(WIDTH, 96), fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        act = F.silu if self.fault == "another activation" else F.gelu
        return self.c_proj(act(self.c_fc(x)))


class LayerNorm(nn.LayerNorm):
    def __init__(self, fault: str | None) -> None:
        super().__init__(WIDTH)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.fault != "norm without mean":
            return super().forward(x)
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (x.float() * scale).to(x.dtype) * self.weight + self.bias


class Block(nn.Module):
    def __init__(self, layer: int, fault: str | None) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), LayerNorm(fault)
        self.attn, self.mlp, self.fault = Attention(layer, fault), MLP(fault), fault

    def forward(self, x: torch.Tensor, past: Past) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x), past)
        made = self.mlp(self.ln_2(x))
        return made if self.fault == "no residual" else x + made


class Stack(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.wpe, self.wte = nn.Embedding(LONGEST, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.h = nn.ModuleList(Block(n, fault if n == 1 else None) for n in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)

    def forward(self, ids: torch.Tensor, positions: torch.Tensor, past: Past) -> torch.Tensor:
        x = self.wpe(positions)
        x = self.wte(ids) + x
        for block in self.h:
            x = block(x, past)
        return self.ln_f(x)


class Generator(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.transformer = Stack(fault)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def forward(self, ids: torch.Tensor, positions: torch.Tensor, past: Past) -> torch.Tensor:
        return self.lm_head(self.transformer(ids, positions, past)[:, -1:])


def trainer(dtype: torch.dtype) -> MegatronGPT:
    """A trainer whose every weight is drawn."""
    torch.manual_seed(23)
    model = MegatronGPT()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.to(dtype)


@torch.no_grad()
def engine(model: MegatronGPT, fault: str | None) -> Generator:
    """The engine with the weights of a trainer."""
    made = Generator(fault).to(model.word_embeddings.weight.dtype)
    new = made.transformer
    new.wpe.weight.copy_(model.position_embeddings.weight)
    new.wte.weight.copy_(model.word_embeddings.weight)
    new.ln_f.load_state_dict(model.final_layernorm.state_dict())
    for number, (block, layer) in enumerate(zip(new.h, model.layers)):
        block.ln_1.load_state_dict(layer.input_layernorm.state_dict())
        block.ln_2.load_state_dict(layer.pre_mlp_layernorm.state_dict())
        fused = layer.self_attention.linear_qkv
        weight = fused.weight.reshape(HEADS, 3, HEAD, WIDTH).transpose(0, 1).reshape(-1, WIDTH)
        block.attn.c_attn.weight.copy_(weight.T)
        bias = fused.bias.reshape(HEADS, 3, HEAD).transpose(0, 1)
        block.attn.c_attn.bias.copy_(bias.reshape(-1))
        for target, source in (
            (block.attn.c_proj, layer.self_attention.linear_proj),
            (block.mlp.c_fc, layer.mlp.linear_fc1),
            (block.mlp.c_proj, layer.mlp.linear_fc2),
        ):
            target.weight.copy_(source.weight.T)
            target.bias.copy_(source.bias)
        if fault == "bias forgotten" and number == 1:
            block.mlp.c_proj.bias.zero_()
    return made
