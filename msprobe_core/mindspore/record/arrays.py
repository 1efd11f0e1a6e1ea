"""A tensor's elements as a NumPy array that can be measured and saved."""

from __future__ import annotations

from typing import Any

import mindspore
import numpy as np
from mindspore import Tensor
from numpy.typing import NDArray

Array = NDArray[Any]
_COPIED = 1 << 16
"""Bytes up to which a copy takes less time than an array of the tensor's own memory, which NumPy
makes by a description that it reads in Python: 0.5 to 2 instead of 5 µs (MindSpore 2.10).
"""
_BUILT_IN = 1
_FORMATS = {
    getattr(mindspore, name): np.dtype(name.rstrip("_"))
    for name in (
        *("float16", "float32", "float64", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64", "bool_", "complex64", "complex128"),
    )
}


def array_of(tensor: Tensor) -> Array:
    """The elements; a bfloat16 as float32, which holds all of its values.

    On the CPU this may be the tensor's live memory: measure or save it at once, or copy it.
    """
    kind = _FORMATS.get(tensor.dtype)
    if kind is not None and tensor.nbytes <= _COPIED and not tensor.has_init:
        return np.frombuffer(tensor.get_bytes(), kind).reshape(tensor.shape)
    array: Array = tensor.asnumpy()
    return array if array.dtype.isbuiltin == _BUILT_IN else widened(array)


def widened(bfloat16: Array) -> Array:
    """Two-byte elements that NumPy cannot name, as the float32 of the same upper half."""
    bits = np.ascontiguousarray(bfloat16).view(np.uint16).astype(np.uint32) << 16
    return bits.view(np.float32).reshape(bfloat16.shape)
