"""A way to cut the tiny transformer over processes, and the groups of one process in it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import torch
import torch.distributed as dist

ORDER = ("tp", "cp", "dp", "pp")  # innermost first, as Megatron has it; experts divide dp


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of the axes and how the rest is done; the default is one process."""

    tp: int = 1
    cp: int = 1
    dp: int = 1
    pp: int = 1
    vpp: int = 1
    ep: int = 1
    sequence_parallel: bool = False
    zigzag: bool = False
    micro_batches: int = 1
    native: str = (
        ""  # how torch itself does it: ddp, fsdp2, dtensor, plan, schedule; by hand when empty
    )
    zero: bool = False
    transposed: bool = False  # weights are stored (in, out), as GPT-2's are
    padded: bool = False  # the vocabulary, to a multiple of 4 · tp
    loss_parallel: bool = False  # DTensor's: logits stay cut
    per_token: bool = False  # losses are sums; gradients are divided by all tokens at the end

    @property
    def world_size(self) -> int:
        """How many processes it takes."""
        return self.tp * self.cp * self.dp * self.pp

    def coordinate(self, rank: int, axis: str) -> int:
        """Where a rank stands on an axis."""
        for name in ORDER:
            size = getattr(self, name)
            if name == axis:
                return rank % size
            rank //= size
        raise KeyError(axis)

    def ranks_of(self, rank: int, axis: str) -> list[int]:
        """The ranks of a rank's group along an axis."""
        others = [name for name in ORDER if name != axis]
        return [
            other
            for other in range(self.world_size)
            if all(self.coordinate(other, n) == self.coordinate(rank, n) for n in others)
        ]

    def __str__(self) -> str:
        said = [
            f.name.replace("_", "-") if getattr(self, f.name) is True else f"{f.name}{value}"
            for f in fields(self)
            if (value := getattr(self, f.name)) != f.default
        ]
        return "-".join(said) or "single"


class Mesh:
    """The process groups of this process; an axis of size 1 has none."""

    def __init__(self, layout: Layout, rank: int) -> None:
        self.layout, self.rank = layout, rank
        self._groups: dict[str, dist.ProcessGroup] = {}
        for axis in ORDER:
            self._groups |= self._make(axis)

    def _make(self, axis: str) -> dict[str, dist.ProcessGroup]:
        if getattr(self.layout, axis) == 1:
            return {}
        made: dict[str, dist.ProcessGroup] = {}
        known: dict[tuple[int, ...], dist.ProcessGroup] = {}
        for rank in range(self.layout.world_size):
            ranks = tuple(self.layout.ranks_of(rank, axis))
            if ranks not in known:
                known[ranks] = dist.new_group(list(ranks))  # every process makes every group
        made[axis] = known[tuple(self.layout.ranks_of(self.rank, axis))]
        return made

    def group(self, axis: str) -> dist.ProcessGroup | None:
        """The group along an axis, None where it has one process."""
        return self._groups.get(axis)

    def at(self, axis: str) -> int:
        """The process's place on an axis."""
        return self.layout.coordinate(self.rank, axis)

    def size(self, axis: str) -> int:
        """The number of processes on an axis."""
        return int(getattr(self.layout, axis))

    def ranks(self, axis: str) -> list[int]:
        """The ranks along an axis."""
        return self.layout.ranks_of(self.rank, axis)

    @cached_property
    def header(self) -> dict[str, object]:
        """What `PrecisionDebugger.start(parallel=…)` is told."""
        axes = {
            axis: {"rank": self.at(axis), "size": self.size(axis), "ranks": self.ranks(axis)}
            for axis in ORDER
            if self.size(axis) > 1
        }
        return {
            "world_size": self.layout.world_size,
            "rank": self.rank,
            "axes": axes,
            "micro_batches": self.layout.micro_batches,
            "cp_order": "zigzag" if self.layout.zigzag else "contiguous",
        }

    def sequence_part(self, whole: torch.Tensor, dim: int = 1) -> torch.Tensor:
        """The process's share of a sequence along cp."""
        size, own = self.size("cp"), self.at("cp")
        if not self.layout.zigzag:
            return whole.chunk(size, dim)[own]
        parts = whole.chunk(2 * size, dim)
        return torch.cat((parts[own], parts[2 * size - 1 - own]), dim)
