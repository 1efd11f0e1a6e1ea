"""Numbers that hide what they stand beside: minus infinity, and the smallest number of each format.

Two runs in two formats mask with two of them and mean the same.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from msprobe_core.format import LARGEST

_HALF = 65504.0  # the largest number of float16
_BRAIN = 3.3895313892515355e38  # of bfloat16, which numpy does not know
_SMALLEST = np.array([-inf, -_HALF, -_BRAIN, np.finfo(np.float32).min, np.finfo(np.float64).min])


def mask_alike(ours: float, theirs: float) -> bool:
    """Whether two arguments of one sign both mask: as large as masks are, or float16's largest."""
    return _masks(ours) and _masks(theirs) and (ours > 0) == (theirs > 0)


def are_smallest(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers are the smallest of some format, or minus infinity."""
    if not (numbers <= -_HALF).any():
        return np.zeros(numbers.shape, dtype=bool)
    return np.isin(numbers, _SMALLEST)


def hold_masks(extremes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which columns of extremes hold a number as large as masks are, or infinity."""
    magnitude = np.abs(extremes)
    return np.asarray(((magnitude >= LARGEST) | (magnitude == _HALF)).any(axis=0))


def mask_ends(extremes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which ends [Max, Min; values] hold masks for certain: infinity, or below zero as large.

    A large positive number without infinity is data more often than a mask.
    """
    lowest = extremes[1]
    ends = np.isinf(extremes)
    ends[1] |= (lowest <= -LARGEST) | (lowest == -_HALF)
    return np.asarray(ends)


def _masks(number: float) -> bool:
    return abs(number) >= LARGEST or abs(number) == _HALF
