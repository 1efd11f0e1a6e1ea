"""What was found of a tensor in one epoch of its memory, and whether it is still so."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from msprobe_core.torch.memory.book import Memory
from msprobe_core.torch.memory.views import View
from msprobe_core.torch.record.record_text import PendingTensor

_dispatch_keys = torch._C._dispatch_keys
address_of: Callable[[torch.Tensor], int] = torch._C.TensorBase.data_ptr
"""Not the method of torch.Tensor: asking that one gives the memory away."""


class Made(NamedTuple):
    """A record as it was made; `file` is the first that the tensor was saved in, if it was."""

    record: str | PendingTensor
    abnormal: bool = False
    file: str | None = None


class Found:
    """What was found of a tensor in one epoch of its memory, and how the tensor showed it."""

    __slots__ = (
        "abnormal",
        "address",
        "epoch",
        "file",
        "memory",
        "record",
        "requires_grad",
        "rows",
        "source",
        "view",
    )

    def __init__(
        self,
        tensor: torch.Tensor,
        memory: Memory | None,
        view: View | None,
        made: Made,
    ) -> None:
        self.memory, self.view = memory, view
        self.epoch = 0 if memory is None else memory.epoch
        self.address, self.requires_grad = 0, tensor.requires_grad
        self.record, self.abnormal, self.file = made
        self.source: str | None = None
        """The output that the tensor is; empty where none is known, None before it is asked."""
        self.rows: str | None = None
        """The member that tells of each row, None before it is asked."""

    def is_still(self, tensor: torch.Tensor) -> bool:
        """Whether this is so of a plain tensor: it shows the same bytes, and nobody wrote them.

        While the storage lives, nothing else is at its address.
        """
        memory, view = self.memory, self.view
        return (
            memory is not None
            and view is not None
            and memory.epoch == self.epoch
            and not memory.is_open
            and _dispatch_keys(tensor).raw_repr() == view.keys
            and tensor._version == memory.version
            and address_of(tensor) == self.address
            and tensor.shape == view.shape
            and tensor.dtype is view.dtype
            and tensor.stride() == view.stride
            and tensor.requires_grad == self.requires_grad
            and not memory.is_gone
            and memory.is_as_sampled()
        )
