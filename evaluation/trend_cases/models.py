"""Unlike models and the trainings that they go through without a fault."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

Batch = tuple[torch.Tensor, torch.Tensor]


class Attention(nn.Module):
    def __init__(self, width: int, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, -1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Mlp(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(F.gelu(self.fc1(x)))


class Experts(nn.Module):
    """Two of four experts a token, weighed by a router."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.router = nn.Linear(width, 4)
        self.experts = nn.ModuleList([Mlp(width) for _ in range(4)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = self.router(x).softmax(-1).topk(2, -1)
        result = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            share = (weights * (chosen == index)).sum(-1)
            picked = share > 0
            if picked.any():
                result[picked] = result[picked] + share[picked][:, None] * expert(x[picked])
        return result


class Block(nn.Module):
    def __init__(self, width: int, inner: Callable[[int], nn.Module] = Mlp) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.mlp = Attention(width), inner(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Language(nn.Module):
    def __init__(
        self, width: int = 32, layers: int = 3, inner: Callable[[int], nn.Module] = Mlp
    ) -> None:
        super().__init__()
        self.emb = nn.Embedding(128, width)
        self.layers = nn.ModuleList([Block(width, inner) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 128)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(x + self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class Vision(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.layers = nn.ModuleList([Residual(8) for _ in range(2)])
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(128, 24)
        self.lstm = nn.LSTM(24, 32, batch_first=True)
        self.head = nn.Linear(32, 128)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.emb(ids))[0])


class Dropped(nn.Module):
    """A classifier with dropout and batch norm over tabular data."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Linear(16, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.3)),
            *(nn.Linear(48, 48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 4)),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Autoencoder(nn.Module):
    """Variational: its loss has two terms of unlike size, and noise in the forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 8))
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean, spread = self.encoder(x).chunk(2, -1)
        hidden = mean + torch.randn_like(mean) * (spread / 2).exp()
        kept = 0.5 * (spread.exp() + mean**2 - 1 - spread).sum(-1).mean()
        return F.mse_loss(self.decoder(hidden), x) + 0.01 * kept


@dataclass(frozen=True)
class Training:
    """A model, its data and its optimizer."""

    make: Callable[[], nn.Module]
    data: Callable[[], Iterator[Batch]]
    loss: Callable[[nn.Module, Batch], torch.Tensor]
    optimizer: Callable[[nn.Module], torch.optim.Optimizer]
    steps: int = 600
    clip: float | None = None
    micro: int = 1
    schedule: Callable[[int], float] = lambda step: 1.0


def text() -> torch.Tensor:
    """The topics of Python's own documentation, as it ships with Python: 700 kB of English."""
    spec = importlib.util.find_spec("pydoc_data.topics")
    assert spec is not None
    assert spec.origin is not None
    content = Path(spec.origin).read_text(encoding="utf-8").encode("ascii", "replace")
    return torch.tensor(list(content), dtype=torch.long)


def real_text(rows: int = 8, length: int = 32) -> Iterator[Batch]:
    characters, generator = text(), torch.Generator().manual_seed(3)
    while True:
        at = torch.randint(0, len(characters) - length - 1, (rows,), generator=generator)
        windows = torch.stack([characters[i : i + length + 1] for i in at.tolist()])
        yield windows[:, :-1], windows[:, 1:]


def padded_text() -> Iterator[Batch]:
    """Sentences of unlike length, as a loader of padded batches makes them."""
    generator = torch.Generator().manual_seed(4)
    source = real_text(8, 64)
    while True:
        length = int(torch.randint(8, 64, (), generator=generator))
        ids, wanted = next(source)
        yield ids[:, :length], wanted[:, :length]


def shapes() -> Iterator[Batch]:
    """Pictures of bars: lying or standing, thin or wide."""
    generator = torch.Generator().manual_seed(5)
    while True:
        wanted = torch.randint(0, 4, (16,), generator=generator)
        pictures = 0.3 * torch.randn((16, 1, 12, 12), generator=generator)
        for picture, kind in zip(pictures, wanted.tolist(), strict=True):
            at = int(torch.randint(0, 8, (), generator=generator))
            wide = 1 + 2 * (kind // 2)
            area = picture[0, at : at + wide] if kind % 2 else picture[0, :, at : at + wide]
            area += 1.5
        yield pictures, wanted


def table() -> Iterator[Batch]:
    generator = torch.Generator().manual_seed(6)
    rule = torch.randn((16, 4), generator=generator)
    while True:
        x = torch.randn((32, 16), generator=generator)
        yield x, (x @ rule).argmax(-1)


def next_token(model: nn.Module, batch: Batch) -> torch.Tensor:
    return F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten())


def classes(model: nn.Module, batch: Batch) -> torch.Tensor:
    return F.cross_entropy(model(batch[0]), batch[1])


def own_loss(model: nn.Module, batch: Batch) -> torch.Tensor:
    return model(batch[0])


def adam(lr: float) -> Callable[[nn.Module], torch.optim.Optimizer]:
    return lambda model: torch.optim.AdamW(model.parameters(), lr=lr)


def momentum(lr: float) -> Callable[[nn.Module], torch.optim.Optimizer]:
    return lambda model: torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)


def warm_cosine(step: int) -> float:
    """Twenty steps up, then a cosine down to a tenth at 600."""
    angle = torch.tensor(min(step, 600) / 600 * torch.pi)
    return min(1.0, (step + 1) / 20) * (0.55 + 0.45 * float(torch.cos(angle)))


TRAININGS = {
    "language": Training(Language, real_text, next_token, adam(3e-3), 2000, 1.0, 1, warm_cosine),
    "padded": Training(Language, padded_text, next_token, adam(2e-3), clip=1.0),
    "experts": Training(
        lambda: Language(inner=Experts), real_text, next_token, adam(3e-3), clip=1.0
    ),
    "vision": Training(Vision, shapes, classes, momentum(0.02)),
    "recurrent": Training(Recurrent, real_text, next_token, adam(1e-2), clip=1.0),
    "dropped": Training(Dropped, table, classes, momentum(0.05)),
    "autoencoder": Training(Autoencoder, table, own_loss, adam(1e-2)),
    "micro": Training(Language, real_text, next_token, adam(1e-3), clip=1.0, micro=4),
}
