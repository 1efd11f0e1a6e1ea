"""Max, Min, Mean and L2 norm of an array as JSON text: the same rules as for PyTorch.

Sums are taken in float64. Integers and bools have no Mean and Norm, complex values are measured by
their magnitude, an empty array has no numbers.
"""

from __future__ import annotations

from math import inf, isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from msprobe_core.values.text import number

_NAMES = ("Max", "Min", "Mean", "Norm")
_BLOCK = 1 << 16  # elements whose float64 copy stays in the cache
_EXACT = 4  # bytes: squares of narrower formats than float64, and their sums, stay finite there


class Measured(NamedTuple):
    """Statistics as JSON members. `abnormal`: an element is not finite, or the largest that its
    dtype can hold. `extreme`: the largest magnitude, infinite where it is not known.
    """

    text: str
    abnormal: bool
    extreme: float


EMPTY = Measured("".join(f', "{name}": null' for name in _NAMES), False, 0.0)


def measure(array: NDArray[Any]) -> Measured:
    """Measure an array of any dtype that NumPy computes with."""
    if not array.size:
        return EMPTY
    if array.dtype.kind not in "fc":
        return _text((array.max().item(), array.min().item(), None, None), False, inf)
    flat = np.abs(array).reshape(-1) if array.dtype.kind == "c" else array.reshape(-1)
    high, low, total, squares = _numbers(flat)
    extreme = max(abs(high), abs(low))
    abnormal = not (isfinite(extreme) and extreme < float(np.finfo(flat.dtype).max))
    if not isfinite(squares) and isfinite(extreme):  # of doubles whose squares are too large
        squares = float(np.square(flat / extreme).sum())
        return _text((high, low, total / flat.size, extreme * sqrt(squares)), abnormal, extreme)
    norm = sqrt(squares) if squares >= 0 else squares
    return _text((high, low, total / flat.size, norm), abnormal, extreme)


def _numbers(flat: NDArray[Any]) -> tuple[float, float, float, float]:
    """Max, Min, and the sums; the reductions are called without their wrappers for small arrays."""
    if flat.size <= _BLOCK and flat.dtype.itemsize <= _EXACT:
        wide = flat.astype(np.float64)
        high, low = float(np.maximum.reduce(wide)), float(np.minimum.reduce(wide))
        if isfinite(high) and isfinite(low):  # nothing overflows or is undefined then
            return high, low, float(np.add.reduce(wide)), float(np.dot(wide, wide))
    with np.errstate(all="ignore"):
        return float(flat.max()), float(flat.min()), *_sums(flat)


def _sums(flat: NDArray[Any]) -> tuple[float, float]:
    """The sum and the sum of squares, in float64, block by block."""
    total = squares = 0.0
    for start in range(0, flat.size, _BLOCK):
        wide = flat[start : start + _BLOCK].astype(np.float64)
        total += float(wide.sum())
        squares += float(np.dot(wide, wide))
    return total, squares


def _text(numbers: tuple[float | bool | None, ...], abnormal: bool, extreme: float) -> Measured:
    cells = (f', "{name}": {number(value)}' for name, value in zip(_NAMES, numbers))
    return Measured("".join(cells), abnormal, extreme)
