"""Which arguments a call writes, by its name: in place, into `out`, into running statistics."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

_READS = frozenset(
    {"__init__", "__int__", "__index__", "__invert__", "__iter__", "__instancecheck__"}
)
_RUNNING = {
    "batch_norm": (1, "running_mean", 2, "running_var"),
    "instance_norm": (1, "running_mean", 2, "running_var"),
    "fused_moving_avg_obs_fake_quant": (3, "running_min", 4, "running_max"),
}
"""Statistics that a call updates with their versions left as they were: places and keywords."""
_ALL_LISTS = ("_fused_", "_amp_")
"""Names of functions that write several of their lists."""


@cache
def _writes(name: str) -> bool:
    if name.startswith("__"):
        return name == "__setitem__" or (name.startswith("__i") and name not in _READS)
    return name.endswith("_")


def _writers() -> frozenset[Callable[..., Any]]:
    owners = (torch.Tensor, torch, torch._C._nn, torch.nn.functional)
    named = ((owner, name) for owner in owners for name in dir(owner) if _writes(name))
    found = (getattr(owner, name, None) for owner, name in named)
    return frozenset(each for each in found if callable(each) and hasattr(each, "__name__"))


WRITING = _writers()
"""Functions of torch that write in place."""


def written_by(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: object
) -> list[object]:
    """The arguments that a call has written, tensors and lists of them."""
    found: list[object] = []
    if args and (result is args[0] or _writes(name)):
        found += args if name.startswith(_ALL_LISTS) else args[:1]
    if kwargs and "out" in kwargs:
        found.append(kwargs["out"])
    if name in _RUNNING:
        first, one, second, other = _RUNNING[name]
        for place, keyword in ((first, one), (second, other)):
            found.append(args[place] if place < len(args) else kwargs.get(keyword))
    return found
