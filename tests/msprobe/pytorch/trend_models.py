"""Small models and loops whose trends are tested."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY = 32


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.fc2(F.gelu(self.fc1(x)))


class Net(nn.Module):
    def __init__(self, width: int = 16, layers: int = 3, vocabulary: int = VOCABULARY) -> None:
        super().__init__()
        self.emb = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList([Block(width) for _ in range(layers)])
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def loss_of(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())


def batches(steps: int, rows: int = 4) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(0, VOCABULARY, (rows, 6), generator=generator) for _ in range(steps)]


def make(seed: int = 0, lr: float = 1e-2) -> tuple[Net, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    net = Net()
    return net, torch.optim.AdamW(net.parameters(), lr=lr)


def train(
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    data: list[torch.Tensor],
    after: Callable[[torch.Tensor], None] = lambda loss: None,
    micro: int = 1,
    clip: float | None = None,
) -> None:
    for ids in data:
        total = torch.zeros(())
        for part in ids.chunk(micro):
            loss = loss_of(net, part) / micro
            loss.backward()
            total += loss.detach()
        if clip is not None:
            nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad()
        after(total)


def train_with_a_leap(
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    steps: int,
    leaps: tuple[int, float],
    after: Callable[[torch.Tensor], None] = lambda loss: None,
) -> None:
    """The loss of one step, by its number, is so many times as large."""
    for number, ids in enumerate(batches(steps)):
        loss = loss_of(net, ids) * (leaps[1] if number == leaps[0] else 1)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        after(loss)
