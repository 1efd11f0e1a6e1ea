"""Two small trainings of which one lacks something, or is set otherwise, from a step on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from msprobe.pytorch import Trends

STEPS, AT = 40, 21


class Branched(nn.Module):
    """Layers that add to what flows by, each with a norm; and experts of a mixture."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Linear(6, 12)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 12))
            for _ in range(3)
        )
        self.router = nn.Linear(12, 3)
        self.experts = nn.ModuleList(nn.Linear(12, 12) for _ in range(3))
        self.head = nn.Linear(12, 2)
        self.uncalled: set[int] = set()
        self.closed: set[int] = set()
        self.cut: set[int] = set()
        self.blind: set[int] = set()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.emb(x)
        for number, layer in enumerate(self.layers):
            if number in self.uncalled:
                continue
            with torch.set_grad_enabled(number not in self.blind):
                inner = layer(x)
            x = x + (inner.detach() if number in self.cut else inner)
        shares = self.router(x).softmax(-1)
        mixed = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            if number not in self.closed:
                mixed = mixed + shares[:, number : number + 1] * expert(x)
        return self.head(x + mixed)


@dataclass
class Scene:
    """What a change reaches; `skips` leaves out an optimizer's step."""

    model: Branched
    optimizer: torch.optim.Optimizer
    clip: Callable[[], object]
    skips: bool = False
    scale: float = 1.0


Change = Callable[[Scene], None]


@dataclass(frozen=True)
class Run:
    """How a run differs: `change` before step `at`, what its trends are told to record."""

    change: Change = lambda scene: None
    at: int = AT
    settings: Mapping[str, Any] = field(default_factory=dict)
    noise: float = 0.0


def train(folder: Path, run: Run) -> None:
    """Train into a folder; `noise` is what the weights begin off by."""
    torch.manual_seed(3)
    model = Branched()
    if run.noise:
        generator = torch.Generator().manual_seed(5)
        with torch.no_grad():
            for each in model.parameters():
                each.mul_(1 + run.noise * torch.randn(each.shape, generator=generator))
    optimizer = torch.optim.AdamW(_groups(model), lr=1e-3, weight_decay=0.01)
    scene = Scene(model, optimizer, lambda: nn.utils.clip_grad_norm_(model.parameters(), 0.1))
    settings = {"activations": "all", "alerts": False, **run.settings}
    chance = torch.Generator().manual_seed(4)
    follows = settings.pop("optimizer", True)
    with Trends(folder, model, optimizer if follows else None, **settings) as trends:
        for step in range(STEPS):
            if step == run.at:
                run.change(scene)
            x = torch.randn(8, 6, generator=chance)
            loss = (model(x) - x[:, :2].sin()).square().mean()
            (loss * scene.scale).backward()
            if scene.scale != 1:
                for each in model.parameters():
                    if each.grad is not None:
                        each.grad /= scene.scale
            scene.clip()
            if not scene.skips:
                optimizer.step()
            scene.skips = False
            optimizer.zero_grad()
            trends.step(loss=loss, loss_scale=scene.scale)


def _groups(model: nn.Module) -> list[dict[str, Any]]:
    weights = [each for each in model.parameters() if each.dim() > 1]
    others = [each for each in model.parameters() if each.dim() <= 1]
    return [{"params": weights}, {"params": others, "weight_decay": 0.0}]
