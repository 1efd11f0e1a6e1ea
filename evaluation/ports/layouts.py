"""An encoder whose port lays it out otherwise: axes, containers, factors, masks, norms."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

VOCABULARY, WIDTH, HEADS, HIDDEN, LAYERS, LENGTH = 70, 32, 4, 64, 2, 10
HEAD = WIDTH // HEADS


class ScaledEmbedding(nn.Embedding):
    """Tokens by the root of the width: the factor stands inside."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return super().forward(tokens) * WIDTH**0.5


def attended(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Attention over [batch, heads, tokens, head]; `mask` is added to the scores."""
    scores = q @ k.transpose(-1, -2) / HEAD**0.5 + mask.to(q.dtype)
    return torch.softmax(scores.float(), -1).to(v.dtype) @ v


class Layer(nn.Module):
    """The original: projections and feed-forward stand in the layer itself, batch first."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.fc1, self.fc2 = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        h = self.norm1(x)
        q, k, v = (
            part(h).unflatten(-1, (HEADS, HEAD)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        x = x + self.out(attended(q, k, v, mask).transpose(1, 2).flatten(2))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = ScaledEmbedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        mask = torch.full((LENGTH, LENGTH), float("-inf")).triu(1)
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.norm(x))


# --- the port -----------------------------------------------------------------------------------


class OffsetNorm(nn.Module):
    """A norm whose weight stands for one plus itself."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.zeros(WIDTH)) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (WIDTH,), self.weight + 1.0, self.bias)


class SelfAttention(nn.Module):
    """Tokens first; a mask of truth values; projections in a module of their own."""

    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.q, self.k, self.v, self.proj = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.fault = fault

    def forward(self, x: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            part(x).unflatten(-1, (HEADS, HEAD)).permute(1, 2, 0, 3)
            for part in (self.q, self.k, self.v)
        )
        scores = q @ k.transpose(-1, -2) / HEAD ** (1.0 if self.fault == "scale" else 0.5)
        if self.fault != "no mask":
            scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
        mixed = scores.float().softmax(-1).to(v.dtype) @ v
        return self.proj(mixed.permute(2, 0, 1, 3).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.act = nn.ReLU() if fault == "another activation" else nn.GELU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.pre, self.mid = OffsetNorm(), OffsetNorm()
        self.mixer, self.ffn = SelfAttention(fault), FeedForward(fault)

    def forward(self, x: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
        x = x + self.mixer(self.pre(x), visible)
        return x + self.ffn(self.mid(x))


class TokensFirst(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(fault if n == 1 else None) for n in range(LAYERS))
        self.last, self.logits = OffsetNorm(), nn.Linear(WIDTH, VOCABULARY)
        self.factor = 1.0 if fault == "factor forgotten" else WIDTH**0.5

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens).transpose(0, 1) * self.factor
        visible = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        for block in self.blocks:
            x = block(x, visible)
        return self.logits(self.last(x)).transpose(0, 1)


def ported(original: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(original, Encoder)
    port = TokensFirst(fault).to(original.head.weight.dtype)
    taken(port.tokens.weight, original.embed.weight)
    norms = [(port.last, original.norm)]
    linears = [(port.logits, original.head)]
    for block, layer in zip(port.blocks, original.layers):
        assert isinstance(block, Block) and isinstance(layer, Layer)
        norms += [(block.pre, layer.norm1), (block.mid, layer.norm2)]
        new = (block.mixer.q, block.mixer.k, block.mixer.v, block.mixer.proj)
        was = (layer.query, layer.key, layer.value, layer.out)
        linears += [*zip(new, was), (block.ffn.up, layer.fc1), (block.ffn.down, layer.fc2)]
    for made, norm in norms:
        taken(made.weight, norm.weight - 1.0)
        taken(made.bias, norm.bias)
    for linear, old in linears:
        taken(linear.weight, old.weight)
        taken(linear.bias, old.bias)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(5)
    tokens = torch.randint(0, VOCABULARY, (2, LENGTH + 1))
    logits = model(tokens[:, :-1]).float()
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


PORT = Port(
    "layouts",
    Encoder,
    ported,
    loss,
    {
        "scale": "blocks.1.mixer",
        "no mask": "blocks.1.mixer",
        "another activation": "blocks.1.ffn.act or blocks.1.ffn",
        "factor forgotten": "tokens",
    },
)
