"""How a tensor shows its storage: enough to know it again without holding the object.

No weak reference to a tensor is kept: torch refuses to swap the contents of one that has any.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import mul
from typing import NamedTuple

import torch

from msprobe_core.torch.measure.strided import SIMPLE

Extent = tuple[int, int]
"""The first byte that a tensor covers, and the one after its last; counted in its storage."""
WHOLE: Extent = (0, 2**63)
_ALL = 2**58  # elements, of 32 bytes at most


_dispatch_keys = torch._C._dispatch_keys


class View(NamedTuple):
    """Format, sizes, strides, first element, and torch's own word for the kind of tensor (`keys`),
    which tells conjugated and negated ones from others.
    """

    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    keys: int

    @property
    def extent(self) -> Extent:
        """The bytes that it covers."""
        size = self.dtype.itemsize
        start = self.offset * size
        if 0 in self.shape:
            return start, start
        last = sum(map(mul, self.shape, self.stride)) - sum(self.stride)
        return start, start + (last + 1) * size


_new_view: Callable[[type[View], tuple[object, ...]], View] = tuple.__new__  # three times as fast


def view_of(tensor: torch.Tensor) -> View:
    """How a strided tensor shows its storage; a nested one is taken to show all of it."""
    keys = _dispatch_keys(tensor).raw_repr()
    if keys in SIMPLE:
        return _new_view(
            View,
            (tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset(), keys),
        )
    if tensor.is_nested:
        return View(tensor.dtype, (_ALL,), (1,), 0, keys)
    return View(tensor.dtype, tensor.shape, tensor.stride(), int(tensor.storage_offset()), keys)


def overlap(one: Extent, other: Extent) -> bool:
    """Whether two extents share a byte."""
    return one[0] < other[1] and other[0] < one[1]


def inside(one: Extent, other: Extent) -> bool:
    """Whether an extent lies in another."""
    return other[0] <= one[0] and one[1] <= other[1]
