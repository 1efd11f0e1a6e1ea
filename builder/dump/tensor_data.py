"""The numbers of a stored tensor, read and decoded block by block.

What numpy has no type for (bfloat16, 8-bit floats) comes as float32, complex numbers as pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Buffer = bytes | memoryview


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How a dtype lies in a file: numpy's type of its parts and how many make an element.

    `decode` turns parts into numbers where numpy's type is not what they mean.
    """

    part: np.dtype[Any]
    parts: int = 1
    decode: Callable[[NDArray[Any]], NDArray[Any]] | None = None

    @property
    def element_bytes(self) -> int:
        """Bytes per element."""
        return self.part.itemsize * self.parts


@dataclass(frozen=True, slots=True)
class TensorData:
    """A tensor as a flat sequence of `size` real numbers; `read` gives bytes `start … stop`."""

    format: NumberFormat
    size: int
    read: Callable[[int, int], Buffer]

    def block(self, start: int, stop: int) -> NDArray[Any]:
        """The numbers `start … stop` as numpy has them."""
        width = self.format.part.itemsize
        raw = np.frombuffer(self.read(start * width, stop * width), dtype=self.format.part)
        return raw if self.format.decode is None else self.format.decode(raw)


def data_of(array: NDArray[Any]) -> TensorData:
    """An array in memory, in its own order of elements; no structured types or objects."""
    flat = np.ascontiguousarray(array).reshape(-1)
    parts = 2 if np.iscomplexobj(flat) else 1
    flat = flat.view(flat.real.dtype) if parts == 2 else flat
    # View as bytes, since an empty array has no buffer to cast.
    raw = flat.view(np.uint8).data if flat.size else memoryview(b"")
    return TensorData(NumberFormat(flat.dtype, parts), flat.size, lambda a, b: raw[a:b])


@cache
def number_format(dtype: str) -> NumberFormat | None:
    """The format of a dtype in torch's spelling without prefix, None for one that is unknown."""
    if dtype in _PLAIN:
        kind, parts = _PLAIN[dtype]
        return NumberFormat(np.dtype(kind), parts)
    if dtype == "bfloat16":
        return NumberFormat(np.dtype("<u2"), decode=_from_bfloat16)
    if dtype in _FLOAT8:
        table = _float8_table(*_FLOAT8[dtype])
        return NumberFormat(np.dtype("u1"), decode=lambda raw: table[raw])
    return None


_PLAIN = {
    "float64": ("<f8", 1),
    "float32": ("<f4", 1),
    "float16": ("<f2", 1),
    "complex32": ("<f2", 2),
    "complex64": ("<f4", 2),
    "complex128": ("<f8", 2),
    "int8": ("i1", 1),
    "int16": ("<i2", 1),
    "int32": ("<i4", 1),
    "int64": ("<i8", 1),
    "uint8": ("u1", 1),
    "uint16": ("<u2", 1),
    "uint32": ("<u4", 1),
    "uint64": ("<u8", 1),
    "bool": ("u1", 1),
}
# Bits of the exponent, its bias, and the codes that are no finite number, as the OCP 8-bit
# specification (e4m3fn, e5m2) and the "fnuz" formats (arXiv 2206.02915) define them.
_FLOAT8 = {
    "float8_e4m3fn": (4, 7, "fn"),
    "float8_e5m2": (5, 15, "ieee"),
    "float8_e4m3fnuz": (4, 8, "fnuz"),
    "float8_e5m2fnuz": (5, 16, "fnuz"),
}


def _from_bfloat16(raw: NDArray[Any]) -> NDArray[Any]:
    wide = raw.astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)


def _float8_table(exponent_bits: int, bias: int, special: str) -> NDArray[np.float32]:
    """All 256 numbers of an 8-bit format."""
    mantissa_bits = 7 - exponent_bits
    code = np.arange(256)
    exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = (code & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    normal = exponent > 0
    magnitude = (fraction + normal) * 2.0 ** (np.maximum(exponent, 1) - bias)
    table = np.where(code < 128, magnitude, -magnitude)
    if special == "fn":
        table[[0x7F, 0xFF]] = np.nan
    elif special == "fnuz":
        table[0x80] = np.nan
    else:
        top = exponent == (1 << exponent_bits) - 1
        table[top] = np.where(fraction[top] > 0, np.nan, np.where(code[top] < 128, np.inf, -np.inf))
    return np.asarray(table, dtype=np.float32)
