"""A mixture of experts: a router sends each token to two of four experts."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.zoo.experiment import Experiment, tokens

VOCABULARY, HIDDEN, EXPERTS, CHOSEN, LAYERS = 64, 32, 4, 2, 2


class Expert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1 = nn.Linear(HIDDEN, 2 * HIDDEN)
        self.w2 = nn.Linear(2 * HIDDEN, HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(self.activate(self.w1(x)))

    def activate(self, x: Tensor) -> Tensor:
        return functional.relu(x)


class Router(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(HIDDEN, EXPERTS, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weights, chosen = torch.topk(self.probabilities(self.gate(x)), CHOSEN, dim=-1)
        return self.normalise(weights).to(x.dtype), chosen

    def probabilities(self, logits: Tensor) -> Tensor:
        return functional.softmax(logits.float(), dim=-1)

    def normalise(self, weights: Tensor) -> Tensor:
        return weights / weights.sum(-1, keepdim=True)


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.router = Router()
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(0, 1)
        weights, chosen = self.router(flat)
        total = torch.zeros_like(flat)
        for index, expert in enumerate(self.experts):
            token, place = torch.where(chosen == index)
            total = self.combine(total, token, expert(flat[token]), weights[token, place])
        return total.view_as(x)

    def combine(self, total: Tensor, token: Tensor, out: Tensor, weight: Tensor) -> Tensor:
        return total.index_add(0, token, out * weight[:, None])


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(HIDDEN)
        self.moe = Experts()

    def forward(self, x: Tensor) -> Tensor:
        return x + self.moe(self.norm(x))


class Mixture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, HIDDEN)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(HIDDEN, VOCABULARY)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def mixture(dtype: torch.dtype) -> Experiment:
    """Token classification with plain gradient descent."""
    model = Mixture().to(dtype)
    return Experiment(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        inputs=lambda step: (tokens(step, (4, 12), VOCABULARY),),
        labels=lambda step: tokens(step + 10, (4, 12), VOCABULARY),
    )
