"""What a program notes of its own gradients, in float64, where they count."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from msprobe.pytorch import Trends

STEPS = 4


class Truth:
    """What a step's gradients were, by name; `clip` by the name of the part."""

    def __init__(self, trends: Callable[..., Trends]) -> None:
        self.trends = trends
        self.grad: list[dict[str, float]] = []
        self.clip: list[dict[str, float]] = []
        self.before: dict[str, torch.Tensor] = {}

    def gradients(self, *models: nn.Module, scale: float = 1.0) -> None:
        """Note a step's gradients as they are now; further models of the same step join them."""
        found = {n: g for model in models for n, g in gradients_of(model, scale).items()}
        self.before |= found
        self.grad[-1] |= {name: float(g.norm()) for name, g in found.items()}

    def begin(self) -> None:
        self.grad.append({})
        self.clip.append({})
        self.before = {}

    def clipped(self, model: nn.Module, **parts: nn.Module) -> None:
        """Note by what the norms of all gradients, and those of parts, were multiplied."""
        after = gradients_of(model)
        for name, part in {"clip": model, **parts}.items():
            own = {id(p) for p in part.parameters()}
            names = [n for n, p in model.named_parameters() if id(p) in own and n in after]
            now, then = (norm_of(g, names) for g in (after, self.before))
            self.clip[-1][name] = now / then


def gradients_of(model: nn.Module, scale: float = 1.0) -> dict[str, torch.Tensor]:
    named = [(name, p.grad) for name, p in model.named_parameters() if p.grad is not None]
    return {name: (g.to_dense() if g.is_sparse else g).double() / scale for name, g in named}


def norm_of(gradients: dict[str, torch.Tensor], names: list[str]) -> float:
    return float(torch.stack([gradients[name].norm() for name in names]).norm())


def model() -> nn.ModuleDict:
    torch.manual_seed(0)
    return nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 1)})


def loss_of(net: nn.ModuleDict, step: int, part: int = 0) -> torch.Tensor:
    torch.manual_seed(100 * step + part)
    return net["b"](net["a"](torch.randn(8, 4) * (step + 1))).square().mean()
