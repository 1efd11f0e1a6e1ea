"""A decoder of the Llama kind; its port fuses projections, turns pairs and calls a kernel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

VOCABULARY, WIDTH, HEADS, GROUPS, HIDDEN, LAYERS, LENGTH = 80, 48, 6, 2, 96, 3, 12
HEAD = WIDTH // HEADS


class RMSNorm(nn.Module):
    def __init__(self, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(WIDTH)), eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (x.float() * scale).to(x.dtype) * self.weight


def angles(length: int) -> torch.Tensor:
    frequencies = 100.0 ** (-torch.arange(0, HEAD, 2) / HEAD)
    return torch.outer(torch.arange(length).float(), frequencies)


class Rotary(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        angle = angles(x.shape[2]).repeat(1, 2)
        left, right = x.chunk(2, -1)
        turned = torch.cat((-right, left), -1)
        return (x * angle.cos() + turned * angle.sin()).to(x.dtype)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k_proj = nn.Linear(WIDTH, GROUPS * HEAD, bias=False)
        self.v_proj = nn.Linear(WIDTH, GROUPS * HEAD, bias=False)
        self.o_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.rotary = Rotary()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            projection(x).unflatten(-1, (-1, HEAD)).transpose(1, 2)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = self.rotary(q), self.rotary(k)
        k, v = (each.repeat_interleave(HEADS // GROUPS, 1) for each in (k, v))
        scores = q @ k.transpose(-1, -2) / HEAD**0.5
        mask = torch.full(scores.shape[-2:], float("-inf")).triu(1).to(scores.dtype)
        weights = torch.softmax((scores + mask).float(), -1).to(x.dtype)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class DecoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(), RMSNorm()
        self.self_attn, self.mlp = Attention(), MLP()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(DecoderLayer() for _ in range(LAYERS))
        self.norm = RMSNorm()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class CausalLM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.lm_head(self.model(tokens))


# --- the port -----------------------------------------------------------------------------------


class FusedAttention(nn.Module):
    """One projection, heads turned in pairs, and the kernel of torch."""

    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.wqkv = nn.Linear(WIDTH, WIDTH + 2 * GROUPS * HEAD, bias=False)
        self.wo = nn.Linear(WIDTH, WIDTH, bias=False)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        sizes = (WIDTH, GROUPS * HEAD, GROUPS * HEAD)
        q, k, v = self.wqkv(x).split(sizes, -1)
        q = self._turned(q.view(batch, length, HEADS, HEAD))
        k = k.view(batch, length, GROUPS, HEAD)
        k = k if self.fault == "key not turned" else self._turned(k)
        v = v.view(batch, length, GROUPS, HEAD)
        scale = 1.0 / HEAD if self.fault == "scale" else None
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        mixed = F.scaled_dot_product_attention(
            q, k, v, is_causal=self.fault != "no mask", scale=scale, enable_gqa=True
        )
        return self.wo(mixed.transpose(1, 2).reshape(batch, length, WIDTH))

    def _turned(self, x: torch.Tensor) -> torch.Tensor:
        angle = angles(x.shape[1])[None, :, None]
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())
        turned = pairs * torch.polar(torch.ones_like(angle), angle)
        return torch.view_as_real(turned).flatten(3).to(x.dtype)


class FusedFeedForward(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.w13 = nn.Linear(WIDTH, 2 * HIDDEN, bias=False)
        self.w2 = nn.Linear(HIDDEN, WIDTH, bias=False)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.w13(x).chunk(2, -1)
        if self.fault == "halves swapped":
            gate, up = up, gate
        act = F.gelu if self.fault == "another activation" else F.silu
        return self.w2(act(gate) * up)


class TransformerBlock(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.attention = FusedAttention(fault)
        self.feed_forward = FusedFeedForward(fault)
        self.attention_norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.ffn_norm = nn.RMSNorm(WIDTH, eps=1e-2 if fault == "epsilon" else 1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class Transformer(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(
            TransformerBlock(fault if number == 1 else None) for number in range(LAYERS)
        )
        self.norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.output = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        h = self.tok_embeddings(tokens)
        for block in self.blocks:
            h = block(h)
        return self.output(self.norm(h))


def in_pairs(weight: torch.Tensor) -> torch.Tensor:
    """The rows of each head so that the halves that are turned together stand side by side."""
    return weight.unflatten(0, (-1, 2, HEAD // 2)).transpose(1, 2).flatten(0, 2)


def ported(original: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(original, CausalLM)
    port = Transformer(fault).to(original.lm_head.weight.dtype)
    taken(port.tok_embeddings.weight, original.model.embed_tokens.weight)
    for number, (block, layer) in enumerate(zip(port.blocks, original.model.layers)):
        assert isinstance(block, TransformerBlock) and isinstance(layer, DecoderLayer)
        old = layer.self_attn
        query = in_pairs(old.q_proj.weight)
        if fault == "query not permuted" and number == 1:
            query = old.q_proj.weight
        taken(
            block.attention.wqkv.weight,
            torch.cat((query, in_pairs(old.k_proj.weight), old.v_proj.weight)),
        )
        taken(block.attention.wo.weight, old.o_proj.weight)
        mlp = layer.mlp
        taken(block.feed_forward.w13.weight, torch.cat((mlp.gate_proj.weight, mlp.up_proj.weight)))
        taken(block.feed_forward.w2.weight, mlp.down_proj.weight)
        if fault == "weight scaled" and number == 1:
            taken(block.feed_forward.w2.weight, mlp.down_proj.weight * 1.1)
        taken(block.attention_norm.weight, layer.input_layernorm.weight)
        taken(block.ffn_norm.weight, layer.post_attention_layernorm.weight)
    taken(port.norm.weight, original.model.norm.weight)
    taken(port.output.weight, original.lm_head.weight)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(3)
    tokens = torch.randint(0, VOCABULARY, (2, LENGTH + 1))
    logits = model(tokens[:, :-1]).float()
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


PORT = Port(
    "decoder",
    CausalLM,
    ported,
    loss,
    {
        "scale": "blocks.1.attention",
        "no mask": "blocks.1.attention",
        "key not turned": "blocks.1.attention",
        "query not permuted": "blocks.1.attention",
        "halves swapped": "blocks.1.feed_forward",
        "another activation": "blocks.1.feed_forward",
        "epsilon": "blocks.1.ffn_norm",
        "weight scaled": "blocks.1.feed_forward.w2",
    },
)
