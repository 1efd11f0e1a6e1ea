"""One process of a program: its place, its groups, its data and what records it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn

from msprobe.pytorch import PrecisionDebugger

STEPS = 2
VOCABULARY, LENGTH, ROWS = 40, 6, 4  # rows of each data-parallel process
Work = Callable[[int], None]


@dataclass
class Run:
    """`wrong` asks for the program's fault; `dtype` is that of parameters and activations."""

    axes: Mapping[str, int]
    rank: int
    wrong: bool
    dtype: torch.dtype
    config: Path
    is_told: bool = True

    def __post_init__(self) -> None:
        self._groups = {axis: self._made(axis) for axis in self.axes}

    @property
    def world(self) -> int:
        """The number of processes."""
        return prod(self.axes.values())

    def at(self, axis: str, rank: int | None = None) -> int:
        """The place of a process on an axis, 0 where there is no such axis."""
        left = self.rank if rank is None else rank
        for name, size in self.axes.items():
            if name == axis:
                return left % size
            left //= size
        return 0

    def size(self, axis: str) -> int:
        """The number of processes along an axis."""
        return self.axes.get(axis, 1)

    def ranks(self, axis: str, rank: int | None = None) -> list[int]:
        """The ranks of a process's group along an axis."""
        own = self.rank if rank is None else rank
        others = [name for name in self.axes if name != axis]
        alike = [[self.at(n, r) == self.at(n, own) for n in others] for r in range(self.world)]
        return [r for r, same in enumerate(alike) if all(same)]

    def group(self, axis: str) -> dist.ProcessGroup:
        """The group along an axis."""
        return self._groups[axis]

    def subgroup(self, *listed: Sequence[int]) -> dist.ProcessGroup:
        """The one of some groups that this process is in; every process has to ask."""
        made = [dist.new_group(list(ranks)) for ranks in listed]
        return next(g for g, ranks in zip(made, listed, strict=True) if self.rank in ranks)

    def _made(self, axis: str) -> dist.ProcessGroup:
        groups = sorted({tuple(self.ranks(axis, rank)) for rank in range(self.world)})
        return self.subgroup(*groups)

    @cached_property
    def header(self) -> dict[str, object] | None:
        """What the dumper is told of the layout."""
        if not self.is_told:
            return None
        axes = {
            axis: {"rank": self.at(axis), "size": size, "ranks": self.ranks(axis)}
            for axis, size in self.axes.items()
        }
        return {"axes": axes}

    def batch(self, step: int, share: int = 0, micro: int = 0) -> tuple[Tensor, Tensor]:
        """Tokens and labels of one share of a step's batch."""
        generator = torch.Generator().manual_seed(1000 * step + 10 * share + micro)
        rows = torch.randint(0, VOCABULARY, (ROWS, LENGTH + 1), generator=generator)
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()

    def optimizer(self, parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        """What updates them."""
        return torch.optim.AdamW(parameters, lr=1e-2, eps=1e-5)

    def train(
        self,
        model: nn.Module,
        work: Work,
        optimizer: torch.optim.Optimizer | None = None,
        after: Work | None = None,
    ) -> None:
        """Record some steps: `work` until the gradients are there, the update, `after` it."""
        debugger = PrecisionDebugger(config_path=str(self.config))
        optimizer = optimizer or self.optimizer(list(model.parameters()))
        for step in range(STEPS):
            debugger.start(model, parallel=self.header)
            work(step)
            optimizer.step()
            if after is not None:
                after(step)
            debugger.stop()
            debugger.step()
            model.zero_grad()
            optimizer.zero_grad()
        debugger.close()
