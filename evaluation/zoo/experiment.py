"""A training experiment: model, data, loss and optimizer, every part replaceable by a fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

STEPS = 2


class Recorder(Protocol):
    """What a dumper must offer."""

    def start(self, model: nn.Module) -> None: ...
    def stop(self) -> None: ...
    def step(self) -> None: ...


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The usual loss, in fp32 whatever the model computes in."""
    return functional.cross_entropy(logits.float().flatten(0, -2), labels.flatten())


def _nothing(_step: int) -> None:
    return None


@dataclass(slots=True)
class Experiment:
    """`inputs` and `labels` give the batch of a step; the hooks are there for faults.

    `before_update` runs after the backward pass, `after_update` after the optimizer's step.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    inputs: Callable[[int], tuple[Tensor, ...]]
    labels: Callable[[int], Tensor]
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    clip: float | None = None
    clear_gradients: bool = True
    before_update: Callable[[int], None] = field(default=_nothing)
    after_update: Callable[[int], None] = field(default=_nothing)

    def train(self, recorder: Recorder) -> None:
        """Run all steps, each recorded from the forward pass to the optimizer's update."""
        for step in range(STEPS):
            inputs, labels = self.inputs(step), self.labels(step)
            recorder.start(self.model)
            self.loss(self.model(*inputs), labels).backward()
            self.before_update(step)
            if self.clip is not None:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimizer.step()
            self.after_update(step)
            recorder.stop()
            recorder.step()
            if self.clear_gradients:
                self.optimizer.zero_grad()


def tokens(step: int, size: tuple[int, ...], vocabulary: int) -> Tensor:
    """A batch of token ids that depends on the step and the experiment's seed alone."""
    generator = torch.Generator().manual_seed(1000 * torch.initial_seed() + step)
    return torch.randint(0, vocabulary, size, generator=generator)


def images(step: int, size: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """A batch of normal noise that depends on the step and the experiment's seed alone."""
    generator = torch.Generator().manual_seed(1000 * torch.initial_seed() + step)
    return torch.randn(size, generator=generator).to(dtype)
