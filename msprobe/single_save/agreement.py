"""How two saved arrays agree, element by element."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Shares are percentages of all elements; the second array is the reference.

    `first_mismatch` is the place in the flattened array of the first element that is not equal,
    None when all are. Errors are infinite where one side alone is not finite or the reference is
    zero, and None for empty arrays and for those of unlike shapes, which nothing is measured of.
    """

    shape1: tuple[int, ...]
    shape2: tuple[int, ...]
    equal: float | None = None
    first_mismatch: int | None = None
    max_absolute: float | None = None
    max_relative: float | None = None
    within_thousandth: float | None = None
    within_hundredth: float | None = None


def agreement(first: Array, second: Array) -> Agreement:
    """Compare two arrays; equal values are the same number, or both NaN, or the same infinity."""
    if first.shape != second.shape or not first.size:
        return Agreement(first.shape, second.shape)
    a, b = (_wide(side).reshape(-1) for side in (first, second))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    absolute = _absolute(a, b, same)
    relative = _relative(absolute, b, same)
    wrong = np.flatnonzero(~same)
    return Agreement(
        first.shape,
        second.shape,
        _share(same),
        int(wrong[0]) if wrong.size else None,
        float(absolute.max()),
        float(relative.max()),
        _share(relative <= 1e-3),
        _share(relative <= 1e-2),
    )


def _wide(array: Array) -> Array:
    if array.dtype.kind in "iub" and array.dtype.itemsize == 8:
        return array.astype(np.longdouble)  # float64 would round large integers
    return array if array.dtype.kind == "c" else array.astype(np.float64)


def _absolute(a: Array, b: Array, same: Array) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        error: Array = np.abs(a - b)
    error[np.isnan(error)] = math.inf
    error[same] = 0.0
    return error


def _relative(absolute: Array, b: Array, same: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error: Array = absolute / np.abs(b)
    error[np.isnan(error)] = math.inf
    error[same] = 0.0
    return error


def _share(chosen: Array) -> float:
    return 100.0 * float(np.count_nonzero(chosen)) / chosen.size
