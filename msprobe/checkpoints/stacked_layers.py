"""Megatron's `torch_dist` format: all layers of a kind in one tensor, taken apart layer by layer.

A layer is read alone, so that memory stays that of one layer whatever the depth of the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from msprobe.checkpoints.megatron_names import core_name
from msprobe.checkpoints.parameter import Parameter
from msprobe.checkpoints.pickled_file import load

ARGUMENTS = "common.pt"  # beside the index; holds what the run was started with
_STACK = re.compile(r"(?P<owner>(?:^|.*\.)layers)\.(?P<rest>(?!\d)\w.*)$")
_EXPERTS = re.compile(r"(?P<owner>.*\bexperts)\.experts\.(?P<rest>.*)$")
Slice = tuple[int, ...]  # indices of the leading dimensions


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor of the checkpoint: its name, shape and dtype, and how a slice of it is read."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    read: Callable[[Slice], torch.Tensor]


def is_stacked(names: Mapping[str, object]) -> bool:
    """Whether any name belongs to a tensor of many layers."""
    return any(_STACK.match(name) for name in names)


def unstacked(stored: Stored) -> Iterator[Parameter]:
    """The parameters in a tensor under the names of megatron.core, one a layer and expert."""
    found = _STACK.match(stored.name)
    if found is None:
        yield _parameter(stored, stored.name, ())
        return
    experts = _EXPERTS.match(found["rest"])
    for layer in range(stored.shape[0]):
        if experts is None:
            yield _parameter(stored, f"{found['owner']}.{layer}.{found['rest']}", (layer,))
            continue
        owner = f"{found['owner']}.{layer}.{experts['owner']}.local_experts"
        for expert in range(stored.shape[1]):
            yield _parameter(stored, f"{owner}.{expert}.{experts['rest']}", (layer, expert))


def arguments_of(folder: Path) -> dict[str, Any]:
    """The arguments of the run that saved a checkpoint; empty where they were not kept."""
    file = folder / ARGUMENTS
    if not file.is_file():
        return {}
    content = load(file)
    arguments = content.get("args") if isinstance(content, Mapping) else None
    return dict(vars(arguments)) if hasattr(arguments, "__dict__") else {}


def _parameter(stored: Stored, name: str, place: Slice) -> Parameter:
    shape = stored.shape[len(place) :]
    return Parameter(core_name(name), shape, stored.dtype, partial(stored.read, place))
