"""Parameters that lie over several ranks: who writes them, and their moments over all ranks.

Every rank measures what it holds; for each dimension of a mesh that shards, one all-reduce of sums
and one of [-min, max] make all of it global, for all tensors at once. The tables have the same
rows on all ranks whatever a rank measured, so a rank whose monitor failed still takes part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from msprobe_core.monitor.moments import HIGH, LOW, NANS, SUM, Rows, empty_rows


@dataclass(frozen=True, slots=True)
class Placement:
    """How a parameter lies over ranks.

    `groups`: those over which it is cut. `writes`: whether this rank writes it. `replicas`: the
    group in which it has to be the same everywhere, if there is one.
    """

    groups: tuple[dist.ProcessGroup, ...] = ()
    writes: bool = True
    replicas: dist.ProcessGroup | None = None


def local_part(tensor: torch.Tensor) -> torch.Tensor:
    """What this rank holds of a tensor, without any communication."""
    to_local = getattr(tensor, "to_local", None)
    if to_local is None:
        return tensor
    local = to_local()
    waited = getattr(local, "wait", None)
    return waited() if waited is not None else local  # type: ignore[no-any-return]


def placements(model: nn.Module, parameters: Sequence[nn.Parameter]) -> list[Placement]:
    """How each parameter lies over the ranks of this run."""
    if not dist.is_available() or not dist.is_initialized():
        return [Placement()] * len(parameters)
    flat = _flat_groups(model)
    replicas = getattr(model, "process_group", None) if _is_ddp(model) else None
    return [_placement(each, flat, replicas) for each in parameters]


@dataclass(slots=True)
class Exchange:
    """The all-reduces of a step, in the same order on all ranks.

    `cut` are the numbers of the parameters that each group shares.
    """

    cut: Mapping[dist.ProcessGroup, Sequence[int]]
    device: torch.device

    def reduce(self, tables: Rows) -> Rows:
        """[kind][parameter][moment] of this rank to the same of all. Raises what the group does."""
        result: Rows = tables.copy()
        for group, numbers in self.cut.items():
            chosen = np.asarray(numbers, dtype=np.intp)
            result[:, chosen] = self._over(group, result[:, chosen])
        return result

    def _over(self, group: dist.ProcessGroup, part: Rows) -> Rows:
        # Reductions by maximum drop NaN on some backends: they travel as a count.
        broken = np.isnan(part[..., [LOW, HIGH]]).any(-1)
        extremes = np.stack([-part[..., LOW], part[..., HIGH]], -1)
        extremes[broken] = -np.inf
        sums = part[..., SUM:].copy()
        sums[..., NANS - SUM] = np.maximum(sums[..., NANS - SUM], broken)
        extremes = _reduced(extremes, dist.ReduceOp.MAX, group, self.device)
        sums = _reduced(sums, dist.ReduceOp.SUM, group, self.device)
        whole: Rows = empty_rows(part.shape[0] * part.shape[1]).reshape(part.shape)
        whole[..., LOW], whole[..., HIGH] = -extremes[..., 0], extremes[..., 1]
        whole[..., SUM:] = sums
        whole[sums[..., NANS - SUM] > 0, LOW : HIGH + 1] = np.nan
        return whole


def exchange_of(parameters: Sequence[nn.Parameter], placed: Sequence[Placement]) -> Exchange | None:
    """The all-reduces that the parameters need; None where nothing is cut."""
    cut: dict[dist.ProcessGroup, list[int]] = {}
    for number, placement in enumerate(placed):
        for group in placement.groups:
            cut.setdefault(group, []).append(number)
    return Exchange(cut, parameters[0].device) if cut else None


def differing(values: Rows, group: dist.ProcessGroup, device: torch.device) -> dict[int, list[int]]:
    """Replicated numbers [row][…] that are not the same bits everywhere: the ranks that have other
    values than most, by row. One all-reduce where all agree, an all-gather else.
    """
    bits = np.ascontiguousarray(np.nan_to_num(values, nan=1.5)).view(np.int64)
    both = _reduced_bits(np.stack([bits, ~bits]), group, device)
    rows = np.flatnonzero((both[0] != ~both[1]).any(1))
    if not len(rows):
        return {}
    gathered = _gathered(bits[rows], group, device)
    ranks = dist.get_process_group_ranks(group)
    found: dict[int, list[int]] = {}
    for at, row in enumerate(rows.tolist()):
        each = [part[at].tobytes() for part in gathered]
        most = max(each, key=each.count)
        found[row] = [rank for rank, own in zip(ranks, each, strict=True) if own != most]
    return found


def _placement(
    parameter: nn.Parameter,
    flat: Mapping[int, dist.ProcessGroup],
    replicas: dist.ProcessGroup | None,
) -> Placement:
    mesh = getattr(parameter, "device_mesh", None)
    if mesh is not None:
        # Not `is_shard`: the strided shards of two dimensions at once say no to it.
        placed = enumerate(parameter.placements)  # type: ignore[attr-defined]
        cut = [dim for dim, p in placed if not p.is_replicate() and not p.is_partial()]
        first = all(at == 0 for at in mesh.get_coordinate() or ())
        return Placement(tuple(mesh.get_group(dim) for dim in cut), first)
    if id(parameter) in flat:
        group = flat[id(parameter)]
        return Placement((group,), dist.get_rank(group) == 0)
    if replicas is not None:
        return Placement((), dist.get_rank(replicas) == 0, replicas)
    return Placement()


def _is_ddp(model: nn.Module) -> bool:
    return isinstance(model, nn.parallel.DistributedDataParallel)


def _flat_groups(model: nn.Module) -> dict[int, dist.ProcessGroup]:
    """The groups of the parameters that FullyShardedDataParallel cut flat."""
    found: dict[int, dist.ProcessGroup] = {}
    for module in model.modules():
        if type(module).__name__ == "FullyShardedDataParallel":
            for parameter in module.parameters():
                found[id(parameter)] = module.process_group  # type: ignore[assignment]
    return found


def _reduced(
    values: Rows, operation: dist.ReduceOp.RedOpType, group: dist.ProcessGroup, device: torch.device
) -> Rows:
    tensor = torch.tensor(values, dtype=torch.float64, device=_device(group, device))
    dist.all_reduce(tensor, operation, group)
    return np.asarray(tensor.tolist()).reshape(values.shape)


def _reduced_bits(values: np.ndarray, group: dist.ProcessGroup, device: torch.device) -> np.ndarray:
    tensor = torch.tensor(values.tolist(), dtype=torch.int64, device=_device(group, device))
    dist.all_reduce(tensor, dist.ReduceOp.MAX, group)
    return np.asarray(tensor.tolist(), dtype=np.int64)


def _gathered(bits: np.ndarray, group: dist.ProcessGroup, device: torch.device) -> list[np.ndarray]:
    own = torch.tensor(bits.tolist(), dtype=torch.int64, device=_device(group, device))
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, own, group)
    return [np.asarray(part.tolist(), dtype=np.int64) for part in parts]


def _device(group: dist.ProcessGroup, device: torch.device) -> torch.device:
    return torch.device("cpu") if dist.get_backend(group) == "gloo" else device
