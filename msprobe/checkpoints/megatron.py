"""Megatron checkpoints: parts of all ranks put together to whole parameters, layers renumbered.

Names and layouts are those of Megatron-LM's `torch` format; the library itself is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from msprobe.checkpoints.mapped_memory import give_back
from msprobe.checkpoints.megatron_files import MegatronFiles, Place, read_files
from msprobe.checkpoints.megatron_names import (
    Partition,
    core_name,
    expert_of,
    layer_of,
    partition_of,
    with_expert,
    with_layer,
)
from msprobe.checkpoints.names import unwrapped
from msprobe.checkpoints.parameter import Checkpoint, Parameter
from msprobe.checkpoints.renamed_model import renamed_models

Parts = list[torch.Tensor]  # one a tensor-parallel rank, mapped from disk


def open_megatron(path: Path, folder: Path) -> Checkpoint:
    """All parameters under the names of megatron.core, in global numbering."""
    files = read_files(folder)
    notes: list[str] = []
    gated = bool(files.arguments.get("swiglu") or files.arguments.get("gated_linear_unit"))
    parameters = {
        name: _whole(name, parts, gated, notes) for name, parts in _all_parts(files).items()
    }
    renamed = renamed_models(parameters, files.arguments, gated=gated)
    return Checkpoint(path, "megatron", parameters, renamed, notes)


def _all_parts(files: MegatronFiles) -> dict[str, Parts]:
    """Parts of each parameter by its global name."""
    parts: dict[str, Parts] = {}
    sizes = files.sizes
    for stage in _stages(files):
        for expert in range(sizes.expert):
            ranks = [
                _local(files, Place(tensor, stage.pipeline, expert), stage.chunk)
                for tensor in range(sizes.tensor)
            ]
            experts = 1 + max((expert_of(n) or 0 for n in ranks[0]), default=0)
            for name in ranks[0]:
                index = expert_of(name)
                whole = stage.global_name(name)
                if index is not None:
                    whole = with_expert(whole, expert * experts + index)
                parts.setdefault(whole, [rank[name] for rank in ranks])
    return parts


def _local(files: MegatronFiles, place: Place, chunk: int) -> dict[str, torch.Tensor]:
    tensors = files.chunks[place][chunk]
    named = {core_name(unwrapped(name).removeprefix("module.")): t for name, t in tensors.items()}
    count = (files.arguments.get("num_experts") or 0) // files.sizes.expert
    return dict(_with_experts_apart(named, count))


def _with_experts_apart(
    named: dict[str, torch.Tensor], experts: int
) -> Iterator[tuple[str, torch.Tensor]]:
    """Split what `GroupedMLP` keeps in one tensor: hidden × (experts · width), and transposed."""
    for name, tensor in named.items():
        owner, dot, last = name.rpartition(".experts.")
        if not dot or last not in ("weight1", "weight2") or not experts:
            yield name, tensor
            continue
        hidden = tensor.shape[0] if last == "weight1" else tensor.shape[1]
        layer = "linear_fc1" if last == "weight1" else "linear_fc2"
        by_expert = (
            tensor.view(experts, hidden, -1)
            if last == "weight1"
            else tensor.view(experts, -1, hidden)
        )
        for index in range(experts):
            yield f"{owner}.experts.local_experts.{index}.{layer}.weight", by_expert[index].t()


@dataclass(frozen=True, slots=True)
class _Stage:
    """One chunk of layers on one pipeline rank, and where its layers begin in the whole model."""

    pipeline: int
    chunk: int
    first_layer: dict[str, int]

    def global_name(self, name: str) -> str:
        layer = layer_of(name)
        return name if layer is None else with_layer(name, layer[1] + self.first_layer[layer[0]])


def _stages(files: MegatronFiles) -> Iterator[_Stage]:
    """Stages in the order of the model: first chunks of all ranks, then second ones."""
    begun: dict[str, int] = {}
    for chunk in range(max(len(chunks) for chunks in files.chunks.values())):
        for pipeline in range(files.sizes.pipeline):
            if chunk >= len(files.chunks[Place(0, pipeline, 0)]):
                continue
            layers = [layer_of(n) for n in _local(files, Place(0, pipeline, 0), chunk)]
            owned: dict[str, set[int]] = {}
            for owner, index in filter(None, layers):
                owned.setdefault(owner, set()).add(index)
            # Some forks save global numbers: a later stage that does not begin at 0.
            first = {
                o: 0 if min(i) == begun.get(o, 0) else begun.get(o, 0) for o, i in owned.items()
            }
            yield _Stage(pipeline, chunk, first)
            for owner, indices in owned.items():
                begun[owner] = first[owner] + max(indices) + 1


def _whole(name: str, parts: Parts, gated: bool, notes: list[str]) -> Parameter:
    partition = partition_of(name)
    if partition == "unknown":
        partition = _partition_of_values(name, parts, notes)
    if partition == "gated_rows" and not gated:
        partition = "rows"
    joined = _JOINS[partition]
    shape = list(parts[0].shape)
    if partition in ("rows", "gated_rows"):
        shape[0] = sum(part.shape[0] for part in parts)
    elif partition == "columns":
        shape[-1] = sum(part.shape[-1] for part in parts)
    else:
        joined = partial(_agreed, name=name, notes=notes)
    read, release = partial(_joined, joined, parts), partial(give_back, parts)
    return Parameter(name, tuple(shape), parts[0].dtype, read, release)


def _joined(join: Callable[[Parts], torch.Tensor], parts: Parts) -> torch.Tensor:
    whole = join(parts)
    if whole is not parts[0]:  # a copy: the parts need not stay beside it
        give_back(parts)
    return whole


def _partition_of_values(name: str, parts: Parts, notes: list[str]) -> Partition:
    equal = all(torch.equal(parts[0], part) for part in parts[1:])
    give_back(parts)
    if equal:
        return "replicated"
    notes.append(f"{name}: differs between tensor-parallel ranks and was joined along its rows")
    return "rows"


def _agreed(parts: Parts, name: str, notes: list[str]) -> torch.Tensor:
    note = f"{name}: should be equal on all tensor-parallel ranks and is not; rank 0 was taken"
    if note not in notes and not all(torch.equal(parts[0], part) for part in parts[1:]):
        notes.append(note)
    return parts[0]


def _rows(parts: Parts) -> torch.Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _columns(parts: Parts) -> torch.Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


def _gated_rows(parts: Parts) -> torch.Tensor:
    """Each rank holds its rows of the gate, then its rows of the other half."""
    if len(parts) == 1:
        return parts[0]
    halves = [part.chunk(2) for part in parts]
    return torch.cat([half for place in (0, 1) for half in (h[place] for h in halves)])


_JOINS: dict[Partition, Callable[..., Any]] = {
    "rows": _rows,
    "columns": _columns,
    "gated_rows": _gated_rows,
    "replicated": _agreed,
}
