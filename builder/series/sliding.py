"""The least or largest of so many steps that follow each other, for each step at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sliding(choose: np.ufunc, values: Floats, size: int) -> Floats:
    """`minimum` or `maximum` of each step and those behind it, `size` in all, a power of two; NaN
    where any of them is. There are size - 1 fewer of them than steps.
    """
    width = 1
    while width < size:
        values = choose(values[:-width], values[width:])
        width *= 2
    return values
