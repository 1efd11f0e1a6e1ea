"""A training step of a small decoder over whole sequences: python examples/port/plain.py OUT

The original of examples/port/fused.py, whose dump is compared with this one.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

from msprobe.pytorch import PrecisionDebugger

WORDS, WIDTH, HEADS, LAYERS, LONGEST = 40, 32, 4, 2, 16
SEQUENCES = ([5, 9, 2, 7, 4, 11], [5, 9, 8, 3, 6, 1, 2, 30])


class Attention(nn.Module):
    """Causal attention with a projection each for queries, keys, values and the result."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.value, self.result = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            projection(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for projection in (self.query, self.key, self.value)
        )
        scores = q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(later, float("-inf")).softmax(-1) @ v
        return self.result(mixed.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    """A gated feed-forward network."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(WIDTH, 64), nn.Linear(WIDTH, 64)
        self.down = nn.Linear(64, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    """Attention and feed-forward network, each behind a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.mlp_norm, self.mlp = nn.LayerNorm(WIDTH), MLP()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Decoder(nn.Module):
    """Logits of the next token at each place of each sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def weights() -> Decoder:
    """The decoder with the weights that both programs have."""
    torch.manual_seed(0)
    return Decoder()


if __name__ == "__main__":
    model = weights()
    longest = max(map(len, SEQUENCES))
    ids = torch.tensor([[*line, *[0] * (longest - len(line))] for line in SEQUENCES])
    debugger = PrecisionDebugger(dump_path=sys.argv[1], level="mix", task="tensor")
    with debugger.recording(model):
        model(ids).log_softmax(-1).mean().backward()
