"""Max, Min, Mean and L2 norm of an array as JSON text, and its sketch: the rules for PyTorch.

Sums are taken in float64. Integers and bools have no Mean and Norm, complex values are measured by
their magnitude, an empty array has no numbers. A float32 array is read once, by the kernel of the
package, where it was built with one; else NumPy's reductions do the same in five readings.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from msprobe_core.mindspore.record.array_sketch import largest_sketched, sketch
from msprobe_core.values.one_pass import Read, load, read_elements
from msprobe_core.values.text import number, sketch_text

_BLOCK = 1 << 16  # elements whose float64 copy stays in the cache
_EXACT = 4  # bytes: squares of narrower formats than float64, and their sums, stay finite there
_FLOAT32 = np.dtype(np.float32)
kernels = load()


class Measured(NamedTuple):
    """Statistics as JSON members. `abnormal`: an element is not finite, or the largest that its
    dtype can hold. `extreme`: the largest magnitude, infinite where it is not known.
    """

    text: str
    abnormal: bool
    extreme: float


EMPTY = Measured(', "Max": null, "Min": null, "Mean": null, "Norm": null', False, 0.0)


def measure_and_sketch(array: NDArray[Any]) -> tuple[Measured, str]:
    """The statistics and the sketch of an array, both as JSON members."""
    read = _read_once(array, sketched=True)
    if read is None:
        measured = measure(array)
    else:
        measured = _measured(read[:4], array)
        if measured.extreme < largest_sketched(array.dtype):
            return measured, sketch_text(read.projections)
    if not array.size:
        return measured, ""
    return measured, sketch_text(sketch(array, measured.extreme).tolist())


def measure(array: NDArray[Any]) -> Measured:
    """Measure an array of any dtype that NumPy computes with."""
    if not array.size:
        return EMPTY
    if array.dtype.kind not in "fc":
        return _text((array.max().item(), array.min().item(), None, None), False, inf)
    read = _read_once(array, sketched=False)
    if read is not None:
        return _measured(read[:4], array)
    flat = np.abs(array).reshape(-1) if array.dtype.kind == "c" else array.reshape(-1)
    return _measured(_numbers(flat), flat)


def _read_once(array: NDArray[Any], sketched: bool) -> Read | None:
    """What the kernel finds; None where it knows no such array, or some elements are not finite."""
    kernel = kernels.get("float32")
    if kernel is None or array.dtype != _FLOAT32 or not array.size or not array.flags.c_contiguous:
        return None
    return read_elements(kernel, array.ctypes.data, array.size, 1, sketched)


def _measured(numbers: tuple[float, float, float, float], flat: NDArray[Any]) -> Measured:
    low, high, total, squares = numbers
    extreme = max(abs(high), abs(low))
    abnormal = not (isfinite(extreme) and extreme < _largest(flat.dtype))
    if not isfinite(squares) and isfinite(extreme):  # of doubles whose squares are too large
        squares = float(np.square(flat / extreme).sum())
        return _text((high, low, total / flat.size, extreme * sqrt(squares)), abnormal, extreme)
    norm = sqrt(squares) if squares >= 0 else squares
    return _text((high, low, total / flat.size, norm), abnormal, extreme)


@lru_cache
def _largest(dtype: np.dtype[Any]) -> float:
    return float(np.finfo(dtype).max)


def _numbers(flat: NDArray[Any]) -> tuple[float, float, float, float]:
    """Min, Max, and the sums; the reductions are called without their wrappers for small arrays."""
    if flat.size <= _BLOCK and flat.dtype.itemsize <= _EXACT:
        wide = flat.astype(np.float64)
        high, low = float(np.maximum.reduce(wide)), float(np.minimum.reduce(wide))
        if isfinite(high) and isfinite(low):  # nothing overflows or is undefined then
            return low, high, float(np.add.reduce(wide)), float(np.dot(wide, wide))
    with np.errstate(all="ignore"):
        return float(flat.min()), float(flat.max()), *_sums(flat)


def _sums(flat: NDArray[Any]) -> tuple[float, float]:
    """The sum and the sum of squares, in float64, block by block."""
    total = squares = 0.0
    for start in range(0, flat.size, _BLOCK):
        wide = flat[start : start + _BLOCK].astype(np.float64)
        total += float(wide.sum())
        squares += float(np.dot(wide, wide))
    return total, squares


def _text(numbers: tuple[float | bool | None, ...], abnormal: bool, extreme: float) -> Measured:
    high, low, mean, norm = map(number, numbers)
    text = f', "Max": {high}, "Min": {low}, "Mean": {mean}, "Norm": {norm}'
    return Measured(text, abnormal, extreme)
