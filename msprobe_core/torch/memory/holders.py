"""Which tensors with memory of their own an argument holds."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.nn.parameter import is_lazy

from msprobe_core.torch.memory.book import own_memory


def memories_in(value: object) -> Iterator[torch.Tensor]:
    """The tensors with memory in an argument: in lists, and in operations between two ranks."""
    if isinstance(value, torch.Tensor):
        own = None if is_lazy(value) else own_memory(value)
        if own is not None:
            yield own
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from memories_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from memories_in(each)
    elif hasattr(value, "tensor"):
        yield from memories_in(value.tensor)
