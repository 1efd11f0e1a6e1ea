"""Trainings that no rule or threshold was set on: other layers, data and optimizers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional as F

from evaluation.trend_cases.models import (
    TRAININGS,
    Batch,
    Block,
    Training,
    classes,
    next_token,
    real_text,
    warm_cosine,
)


class Waves(nn.Module):
    """A gated recurrent network that says how a wave goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(2, 24, num_layers=2, batch_first=True)
        self.mid = nn.Linear(24, 24)
        self.head = nn.Linear(24, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.mid(self.gru(x)[0])))


class Signals(nn.Module):
    """Classes of one-dimensional signals, with group norms and strides."""

    def __init__(self) -> None:
        super().__init__()
        widths = (1, 8, 16, 16)
        self.convs = nn.ModuleList(
            [nn.Conv1d(a, b, 5, 2, 2) for a, b in itertools.pairwise(widths)]
        )
        self.norms = nn.ModuleList([nn.GroupNorm(4, width) for width in widths[1:]])
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = F.silu(norm(conv(x)))
        return self.head(x.mean(-1))


class Tied(nn.Module):
    """A language model whose head is its embedding."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.emb = nn.Embedding(128, width)
        nn.init.normal_(self.emb.weight, std=0.05)
        self.layers = nn.ModuleList([Block(width) for _ in range(2)])
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.emb.weight.T


def waves() -> Iterator[Batch]:
    generator = torch.Generator().manual_seed(11)
    at = torch.arange(33.0)
    while True:
        pace, phase = (torch.rand((16, 1, 2), generator=generator) + 0.2 for _ in range(2))
        wave = torch.sin(at[None, :, None] * pace + 6 * phase)
        wave = wave + 0.05 * torch.randn(wave.shape, generator=generator)
        yield wave[:, :-1], wave[:, 1:]


def signals() -> Iterator[Batch]:
    generator = torch.Generator().manual_seed(12)
    at = torch.linspace(0, 12, 64)
    while True:
        wanted = torch.randint(0, 4, (16,), generator=generator)
        pure = torch.sin(at * (1 + wanted[:, None].float())) * (
            0.5 + torch.rand((16, 1), generator=generator)
        )
        yield (pure + 0.4 * torch.randn((16, 64), generator=generator))[:, None], wanted


def distance(model: nn.Module, batch: Batch) -> torch.Tensor:
    return F.mse_loss(model(batch[0]), batch[1])


UNSEEN = {
    "waves": Training(
        Waves, waves, distance, lambda model: torch.optim.RMSprop(model.parameters(), lr=2e-3)
    ),
    "signals": Training(
        Signals, signals, classes, lambda model: torch.optim.Adam(model.parameters(), lr=3e-3)
    ),
    "tied": Training(
        Tied,
        lambda: real_text(6, 48),
        next_token,
        lambda model: torch.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.95)),
        clip=0.5,
        schedule=warm_cosine,
    ),
    **{name: TRAININGS[name] for name in ("padded", "experts", "dropped", "autoencoder", "micro")},
}
"""The last five were seen by the alerts' rules (without these faults), not by those of pairs."""
