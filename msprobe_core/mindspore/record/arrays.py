"""A tensor's elements as a NumPy array that can be measured and saved."""

from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import Tensor
from numpy.typing import NDArray

Array = NDArray[Any]


def array_of(tensor: Tensor) -> Array:
    """The elements; a bfloat16 as float32, which holds all of its values.

    On the CPU this is the tensor's live memory: measure or save it at once, or copy it.
    """
    array: Array = tensor.asnumpy()
    if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
        return widened(array)
    return array


def widened(bfloat16: Array) -> Array:
    """Two-byte elements that NumPy cannot name, as the float32 of the same upper half."""
    bits = np.ascontiguousarray(bfloat16).view(np.uint16).astype(np.uint32) << 16
    return bits.view(np.float32).reshape(bfloat16.shape)
