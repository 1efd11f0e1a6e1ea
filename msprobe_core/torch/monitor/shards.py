"""Parameters that lie over several ranks: which ranks hold what, and who of them writes.

A parameter has replicas, and each of them is one tensor or cut into pieces. The first replica of
which all ranks follow the training is written, by the first of its ranks; where there is none, each
rank writes its own piece.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Literal

import torch
import torch.distributed as dist
from torch import nn

Role = Literal["undecided", "writes", "sends", "alone", "silent"]
"""What a rank does with its values: write them (with those of others), send them, write them as the
piece that they are, or nothing. While it is undecided it keeps them."""


class Family:
    """The ranks that hold a parameter, replica by replica, as one of them sees it.

    `followers` are those that follow the training, None as long as that is not known; `compared`:
    the replicas have to be the same everywhere.
    """

    def __init__(
        self, replicas: Sequence[tuple[int, ...]], rank: int, compared: bool = False
    ) -> None:
        self.replicas, self.rank, self.compared = tuple(replicas), rank, compared
        self.followers: frozenset[int] | None = None

    @property
    def key(self) -> str:
        """The same on all of its ranks, and another one for each family."""
        return f"{zlib.crc32(repr((self.replicas, self.compared)).encode()):08x}"

    @property
    def ranks(self) -> list[int]:
        """All of them, ascending."""
        return sorted({rank for replica in self.replicas for rank in replica})

    @property
    def written(self) -> tuple[int, ...]:
        """The ranks of the replica that is written, the one that writes it first; () for none."""
        there = self.followers or frozenset()
        return next((one for one in self.replicas if there.issuperset(one)), ())

    @property
    def role(self) -> Role:
        """What its rank does."""
        if self.followers is None:
            return "undecided"
        if self.rank not in self.followers:
            return "silent"
        if not self.written:
            return "alone"
        if self.rank not in self.written:
            return "silent"
        return "writes" if self.rank == self.written[0] else "sends"


def local_part(tensor: torch.Tensor) -> torch.Tensor:
    """What this rank holds of a tensor, without any communication."""
    to_local = getattr(tensor, "to_local", None)
    if to_local is None:
        return tensor
    local = to_local()
    waited = getattr(local, "wait", None)
    return waited() if waited is not None else local  # type: ignore[no-any-return]  # torch's stubs lack it


def families(model: nn.Module, parameters: Sequence[nn.Parameter]) -> list[Family | None]:
    """The family of each parameter; None for one that is this rank's own. The same object for all
    parameters that lie alike.
    """
    if not dist.is_available() or not dist.is_initialized():
        return [None] * len(parameters)
    flat = _flat_groups(model)
    replicas = getattr(model, "process_group", None) if _is_ddp(model) else None
    known: dict[str, Family] = {}
    found: list[Family | None] = []
    for parameter in parameters:
        family = _family(parameter, flat, replicas)
        found.append(None if family is None else known.setdefault(family.key, family))
    return found


def _family(
    parameter: nn.Parameter,
    flat: Mapping[int, dist.ProcessGroup],
    replicas: dist.ProcessGroup | None,
) -> Family | None:
    rank = dist.get_rank()
    if getattr(parameter, "device_mesh", None) is not None:
        return _family_in_mesh(parameter, rank)
    if id(parameter) in flat:
        return Family([tuple(dist.get_process_group_ranks(flat[id(parameter)]))], rank)
    if replicas is not None:
        ranks = dist.get_process_group_ranks(replicas)
        return Family([(each,) for each in ranks], rank, compared=True)
    return None


def _family_in_mesh(parameter: nn.Parameter, rank: int) -> Family | None:
    mesh = parameter.device_mesh  # type: ignore[attr-defined]  # a DTensor has it
    # Not `is_shard`: the strided shards of two dimensions at once say no to it.
    placed = enumerate(parameter.placements)  # type: ignore[attr-defined]  # a DTensor has it
    cut = [dim for dim, p in placed if not p.is_replicate() and not p.is_partial()]
    whole = [dim for dim in range(mesh.ndim) if dim not in cut]
    rows = mesh.mesh.permute(*whole, *cut).reshape(-1, _product(mesh.mesh.shape, cut)).tolist()
    return Family([tuple(row) for row in rows], rank) if mesh.mesh.numel() > 1 else None


def _product(shape: Sequence[int], dimensions: Sequence[int]) -> int:
    count = 1
    for dimension in dimensions:
        count *= shape[dimension]
    return count


def _is_ddp(model: nn.Module) -> bool:
    return isinstance(model, nn.parallel.DistributedDataParallel)


def _flat_groups(model: nn.Module) -> dict[int, dist.ProcessGroup]:
    """The groups of the parameters that FullyShardedDataParallel cut flat."""
    found: dict[int, dist.ProcessGroup] = {}
    for module in model.modules():
        if type(module).__name__ == "FullyShardedDataParallel":
            for parameter in module.parameters():
                found[id(parameter)] = module.process_group  # type: ignore[assignment]  # FSDP's own attribute
    return found
