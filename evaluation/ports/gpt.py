"""A decoder of the GPT-2 kind with transposed weights; its port has projections one by one."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH = 70, 32, 4, 3, 10


class Conv1D(nn.Module):
    """A linear layer whose weight is transposed."""

    def __init__(self, put_out: int, taken_in: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(taken_in, put_out) * 0.15)
        self.bias = nn.Parameter(torch.zeros(put_out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight)
        return flat.view(*x.shape[:-1], -1)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c_attn, self.c_proj = Conv1D(3 * WIDTH, WIDTH), Conv1D(WIDTH, WIDTH)
        self.attn_dropout, self.resid_dropout = nn.Dropout(0.0), nn.Dropout(0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.c_attn(x).split(WIDTH, 2)
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts)
        scores = torch.matmul(q, k.transpose(-1, -2)) / (WIDTH / HEADS) ** 0.5
        past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = torch.where(past, scores, torch.finfo(scores.dtype).min)
        weights = self.attn_dropout(F.softmax(scores, -1))
        return self.resid_dropout(self.c_proj((weights @ v).transpose(1, 2).flatten(2)))


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c_fc, self.c_proj = Conv1D(4 * WIDTH, WIDTH), Conv1D(WIDTH, 4 * WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.c_fc(x)
        h = 0.5 * h * (1.0 + torch.tanh(0.7978845608 * (h + 0.044715 * h.pow(3))))
        return self.c_proj(h)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(WIDTH), Attention()
        self.ln_2, self.mlp = nn.LayerNorm(WIDTH), MLP()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(VOCABULARY, WIDTH),
                "wpe": nn.Embedding(LENGTH + 4, WIDTH),
                "h": nn.ModuleList(Block() for _ in range(LAYERS)),
                "ln_f": nn.LayerNorm(WIDTH),
            }
        )
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.lm_head.weight = self.transformer["wte"].weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1])
        x = self.transformer["wte"](tokens) + self.transformer["wpe"](places)
        for block in self.transformer["h"]:
            x = block(x)
        return self.lm_head(self.transformer["ln_f"](x))


# --- the port -----------------------------------------------------------------------------------


class SplitAttention(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            layer(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        if self.fault == "heads not moved back":
            return self.out(mixed.reshape(x.shape))
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


class FeedForward(nn.Sequential):
    def __init__(self, fault: str | None) -> None:
        act = nn.ReLU() if fault == "another activation" else nn.GELU(approximate="tanh")
        super().__init__(nn.Linear(WIDTH, 4 * WIDTH), act, nn.Linear(4 * WIDTH, WIDTH))


class Layer(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.attention, self.feed_forward = SplitAttention(fault), FeedForward(fault)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mixed = self.attention(self.norms[0](x))
        x = mixed if self.fault == "no residual" else x + mixed
        return x + self.feed_forward(self.norms[1](x))


class Decoder(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Parameter(torch.zeros(LENGTH + 4, WIDTH))
        self.layers = nn.ModuleList(Layer(fault if n == 1 else None) for n in range(LAYERS))
        self.last_norm = nn.LayerNorm(WIDTH)
        self.fault = fault

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        first = 1 if self.fault == "positions off by one" else 0
        x = self.tokens(tokens) + self.positions[first : first + tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.last_norm(x), self.tokens.weight)


def ported(original: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(original, GPT2)
    old, port = original.transformer, Decoder(fault).to(original.lm_head.weight.dtype)
    taken(port.tokens.weight, old["wte"].weight)
    taken(port.positions, old["wpe"].weight)
    for number, (layer, block) in enumerate(zip(port.layers, old["h"])):
        assert isinstance(layer, Layer)
        attention = layer.attention
        parts = (attention.query, attention.key, attention.value)
        weights = block.attn.c_attn.weight.T.chunk(3)
        biases = block.attn.c_attn.bias.chunk(3)
        for part, weight, bias in zip(parts, weights, biases):
            taken(part.weight, weight)
            taken(part.bias, bias)
        if fault == "key and query swapped" and number == 1:
            taken(attention.query.weight, weights[1])
            taken(attention.key.weight, weights[0])
        pairs = [
            (attention.out, block.attn.c_proj),
            (layer.feed_forward[0], block.mlp.c_fc),
            (layer.feed_forward[2], block.mlp.c_proj),
        ]
        for new, was in pairs:
            taken(new.weight, was.weight.T)
            taken(new.bias, was.bias)
        if fault == "bias forgotten" and number == 1:
            taken(layer.feed_forward[2].bias, torch.zeros(WIDTH))
        for new, was in zip(layer.norms, (block.ln_1, block.ln_2)):
            taken(new.weight, was.weight)
            taken(new.bias, was.bias)
    taken(port.last_norm.weight, old["ln_f"].weight)
    taken(port.last_norm.bias, old["ln_f"].bias)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(5)
    tokens = torch.randint(0, VOCABULARY, (3, LENGTH + 1))
    logits = model(tokens[:, :-1])
    return F.cross_entropy(logits.float().view(-1, VOCABULARY), tokens[:, 1:].reshape(-1))


PORT = Port(
    "gpt",
    GPT2,
    ported,
    loss,
    {
        "another activation": "layers.1.feed_forward",
        "heads not moved back": "layers.1.attention",
        "no residual": "layers.1",
        "positions off by one": "Tensor.__add__",
        "key and query swapped": "layers.1.attention.query or layers.1.attention",
        "bias forgotten": "layers.1.feed_forward.2",
    },
)
