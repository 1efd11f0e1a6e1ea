"""A small model of two blocks whose faults stand each in one line that runs many times."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from msprobe.pytorch import PrecisionDebugger, seed_all

BLOCKS, HEADS, HALVES, STEPS, WIDTH, LENGTH = 2, 2, 2, 2, 16, 8


@dataclass(frozen=True)
class Faults:
    """What a run does otherwise; by default what the benchmark does."""

    gate: bool = False
    scale: bool = False
    mask: int = 1
    slope: float = 0.1
    dropout: float = 0.1
    cast: bool = False
    detach: bool = False
    stop: bool = False
    factor: float = 0.35
    absolute: bool = False  # in the first block alone
    product: float | None = None  # a call more in all blocks, of this factor in the last one
    decay: bool = False
    epsilon: float = 1e-8
    clip: bool = False
    smooth: float = 0.0


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, wrong: bool) -> Tensor:
        ctx.save_for_backward(x)
        ctx.wrong = wrong
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        gate = torch.sigmoid(x)
        return grad * (gate + (gate if ctx.wrong else x * gate) * (1 - gate)), None


class Block(nn.Module):
    def __init__(self, number: int, faults: Faults) -> None:
        super().__init__()
        self.number, self.faults = number, faults
        self.query, self.key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        faults = self.faults
        read = x.detach() if faults.detach else x
        queries, keys = self.query(read).chunk(HEADS, -1), self.key(x).chunk(HEADS, -1)
        heads = []
        for query, key in zip(queries, keys):
            scores = query @ key.transpose(-2, -1)
            heads.append(scores if faults.scale else scores * faults.factor)
        mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(faults.mask)
        bias = torch.linspace(0, faults.slope, LENGTH)
        scores = (torch.stack(heads) + bias).masked_fill(mask, -1e9)
        weights = functional.dropout(scores.softmax(-1), faults.dropout)
        mixed = ((weights.detach() if faults.stop else weights) @ x).mean(0)
        if faults.product is not None:
            mixed = mixed * (faults.product if self.number == BLOCKS - 1 else 1.0)
        with torch.autocast("cpu", torch.bfloat16, enabled=faults.cast):
            up = self.up(mixed)
        up = cast(Tensor, Swish.apply(up.float(), faults.gate))  # type: ignore[no-untyped-call]
        up = up.abs() if faults.absolute and self.number == 0 else up.relu()
        return x + cast(Tensor, self.down(up))


class Model(nn.Module):
    def __init__(self, faults: Faults) -> None:
        super().__init__()
        self.embed = nn.Embedding(32, WIDTH)
        self.blocks = nn.ModuleList(Block(number, faults) for number in range(BLOCKS))
        self.head = nn.Linear(WIDTH, 32)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return cast(Tensor, self.head(x))


def train(model: Model, optimizer: torch.optim.Optimizer, ids: Tensor, faults: Faults) -> None:
    optimizer.zero_grad()
    for half in ids.chunk(HALVES):
        logits = model(half).flatten(0, 1)
        loss = functional.cross_entropy(logits, half.flatten(), label_smoothing=faults.smooth)
        loss.backward()
    if faults.clip:
        for parameter in model.parameters():
            parameter.grad.mul_(0.5)  # type: ignore[union-attr]
    optimizer.step()


def recorded(path: Path, faults: Faults) -> Path:
    """The dump of a run of two steps of two micro-batches each."""
    seed_all()
    model = Model(faults)
    made = torch.optim.Adam if faults.decay else torch.optim.AdamW
    groups = [{"params": model.embed.parameters()}, {"params": model.blocks.parameters()}]
    optimizer = made(groups, lr=1e-3, weight_decay=0.1, eps=faults.epsilon, foreach=False)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    for _ in range(STEPS):
        debugger.start(model)
        train(model, optimizer, torch.randint(32, (4, LENGTH)), faults)
        debugger.stop()
        debugger.step()
    debugger.close()
    return path
