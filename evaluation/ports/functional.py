"""A decoder of modules; its port is functions over one dictionary of weights."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

VOCABULARY, WIDTH, HEADS, HIDDEN, LAYERS, TOKENS = 61, 32, 4, 72, 2, 11
EPSILON = 1e-5


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPSILON)
        return self.weight * wide.to(x.dtype)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = (*x.shape[:2], HEADS, WIDTH // HEADS)
        q, k, v = (linear(x).view(shape).transpose(1, 2) for linear in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(mixed.transpose(1, 2).reshape(x.shape))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.attention = Norm(), Attention()
        self.norm2, self.feed_forward = Norm(), FeedForward()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = Norm(), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


# --- the port -----------------------------------------------------------------------------------


def rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    variance = x.float().pow(2).mean(-1, keepdim=True)
    return (x.float() * torch.rsqrt(variance + epsilon)).to(x.dtype) * weight


def causal_attention(x: torch.Tensor, w: nn.ParameterDict, fault: str | None) -> torch.Tensor:
    q, k, v = F.linear(x, w["qkv"]).chunk(3, -1)
    q, k, v = (each.unflatten(-1, (HEADS, -1)).transpose(1, 2) for each in (q, k, v))
    scores = q @ k.transpose(-2, -1)
    if fault != "scale forgotten":
        scores = scores / (WIDTH // HEADS) ** 0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(2 if fault == "sees ahead" else 1)
    weights = scores.float().masked_fill(hidden, float("-inf")).softmax(-1).to(x.dtype)
    return F.linear((weights @ v).transpose(1, 2).flatten(2), w["out"])


def gated(x: torch.Tensor, w: nn.ParameterDict, fault: str | None) -> torch.Tensor:
    gate, up = F.linear(x, w["gate_up"]).chunk(2, -1)
    act = F.gelu if fault == "another activation" else F.silu
    return F.linear(act(gate) * up, w["down"])


class Functions(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.fault = fault
        self.weights = nn.ParameterDict()
        self.layers = nn.ModuleList(nn.ParameterDict() for _ in range(LAYERS))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.weights["embedding"][tokens]
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, nn.ParameterDict)
            fault = self.fault if number == 0 else None
            epsilon = 1e-2 if fault == "epsilon" else EPSILON
            x = x + causal_attention(rms_norm(x, layer["norm1"], epsilon), layer, fault)
            x = x + gated(rms_norm(x, layer["norm2"], EPSILON), layer, fault)
        return F.linear(rms_norm(x, self.weights["norm"], EPSILON), self.weights["head"])


def ported(original: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(original, Decoder)
    port = Functions(fault)

    def put(into: nn.ParameterDict, name: str, *given: torch.Tensor) -> None:
        value = torch.cat(given).detach()
        into[name] = nn.Parameter(torch.empty_like(value))
        taken(into[name], value)

    put(port.weights, "embedding", original.embedding.weight)
    put(port.weights, "norm", original.norm.weight)
    put(port.weights, "head", original.head.weight)
    for layer, block in zip(port.layers, original.blocks):
        assert isinstance(layer, nn.ParameterDict) and isinstance(block, Block)
        attention, feed_forward = block.attention, block.feed_forward
        put(layer, "norm1", block.norm1.weight)
        put(layer, "norm2", block.norm2.weight)
        put(layer, "qkv", attention.q.weight, attention.k.weight, attention.v.weight)
        put(layer, "out", attention.o.weight)
        put(layer, "gate_up", feed_forward.gate.weight, feed_forward.up.weight)
        put(layer, "down", feed_forward.down.weight)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(5)
    tokens = torch.randint(VOCABULARY, (3, TOKENS + 1))
    logits = model(tokens[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())


PORT = Port(
    "functional",
    Decoder,
    ported,
    loss,
    {
        "epsilon": "in rms_norm",
        "scale forgotten": "in causal_attention",
        "sees ahead": "in causal_attention",
        "another activation": "in gated",
    },
)
