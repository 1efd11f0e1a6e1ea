"""How many octaves two runs are apart by."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

APART = 64.0
"""delta where only one side is finite, or not 0: more octaves than float32 norms of one target
differ by."""


def octaves_apart(a: Floats, b: Floats) -> Floats:
    """|log2 a/b|: 0 where they are equal or one was not measured, 64 where one is not finite.

    Between two signs lies no number of octaves: there it is |a - b| in those of the smaller one,
    d log2 x = dx / (x ln 2), 64 at most.
    """
    with np.errstate(all="ignore"):
        size, other = np.abs(a), np.abs(b)
        delta = np.abs(np.log2(size) - np.log2(other))
        other_side = (np.sign(a) * np.sign(b) < 0) & np.isfinite(delta)
        if other_side.any():
            through_zero = (size + other) / (np.minimum(size, other) * math.log(2))
            delta = np.where(other_side, np.minimum(through_zero, APART), delta)
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (a == -np.inf) | (b == -np.inf)
    apart: Floats = np.where(same, 0.0, np.where(np.isfinite(delta), delta, APART))
    return apart
