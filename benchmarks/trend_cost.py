"""What following a training costs: python -m benchmarks.trend_cost [WIDTH LAYERS ROWS LENGTH N]

One thread, CPU time of a step, variants interleaved in one process; the ratio of the medians to a
step that nothing follows. A variant is made and closed around each step, outside the time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from msprobe.pytorch.trends import Trends

VARIANTS: dict[str, dict[str, Any] | None] = {
    "off": None,
    "weights, gradients, state, ratio": {"activations": None},
    "and activations of blocks": {"activations": "blocks"},
    "and activations of all modules": {"activations": "all"},
}


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.norm1(x)
        x = x + self.attn(normed, normed, normed, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.emb = nn.Embedding(512, width)
        self.layers = nn.ModuleList([Block(width) for _ in range(layers)])
        self.head = nn.Linear(width, 512)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main() -> None:
    given = [int(text) for text in sys.argv[1:]]
    width, layers, rows, length, rounds = (*given, *(384, 12, 8, 256, 5)[len(given) :])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Model(width, layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.randint(0, 512, (rows, length))

    def step() -> float:
        began = time.process_time()
        F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.process_time() - began

    step()
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            for name, settings in VARIANTS.items():
                times[name].append(
                    _followed(step, model, optimizer, Path(folder), settings, number)
                )
    base = sorted(times["off"])[rounds // 2]
    millions = sum(p.numel() for p in model.parameters()) / 1e6
    print(f"d {width}, {layers} layers, {millions:.1f} M parameters, {rows * length} tokens a step")
    for name, taken in times.items():
        median = sorted(taken)[rounds // 2]
        print(f"{name}: {median:.3f} s, {median / base:.3f} of off")


def _followed(
    step: Callable[[], float],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    folder: Path,
    settings: dict[str, Any] | None,
    number: int,
) -> float:
    if settings is None:
        return step()
    trends = Trends(folder / str(number), model, optimizer, **settings)
    taken = step()
    began = time.process_time()
    trends.step()
    trends._recorder.found(wait=True)
    taken += time.process_time() - began
    trends.close()
    return taken


if __name__ == "__main__":
    main()
