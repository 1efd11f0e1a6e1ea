"""A tensor's elements for summing and for writing: in memory order, or as bytes.

Nothing here makes an array of numpy: torch marks a storage that has one as never to be resized,
and FSDP resizes the storages of the parameters that it gathers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch

from msprobe_core.torch.measure.strided import Unreadable, has_memory

_address_of: Callable[[torch.Tensor], int] = torch._C.TensorBase.data_ptr
"""Not the method of torch.Tensor: asking that one gives the memory away."""


def in_memory_order(tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
    """The elements as one dimension, and how many times each of them is meant.

    For what does not depend on their order: a transposed tensor needs no copy, and an expanded
    one gives each element once.
    """
    if tensor.is_contiguous():
        return tensor.view(-1), 1
    times = 1
    for dim in reversed(range(tensor.ndim)):
        if tensor.stride(dim) == 0 and tensor.shape[dim] > 1:
            times *= tensor.shape[dim]
            tensor = tensor.select(dim, 0)
    order = sorted(range(tensor.ndim), key=tensor.stride, reverse=True)
    return tensor.permute(order).reshape(-1), times


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """The bytes of a contiguous CPU tensor where they lie; the caller keeps the tensor alive."""
    size = tensor.numel() * tensor.element_size()
    if not size:
        return memoryview(b"")
    if not has_memory(tensor):
        raise Unreadable("no elements: their memory was freed, or never was")
    return memoryview((ctypes.c_ubyte * size).from_address(_address_of(tensor))).cast("B")
