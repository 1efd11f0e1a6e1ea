"""Medians of rows in which some numbers are not known."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.floating[Any])


def row_medians(rows: NDArray[Number]) -> NDArray[Number]:
    """The median of what is not NaN in each row, the lower one of two; NaN where nothing is."""
    found = np.full(len(rows), np.nan, dtype=rows.dtype)
    if not rows.shape[1]:
        return found
    count = (~np.isnan(rows)).sum(1)
    whole = count == rows.shape[1]
    middle = (rows.shape[1] - 1) // 2
    found[whole] = np.partition(rows[whole], middle, axis=1)[:, middle]
    ordered = np.sort(rows[~whole], axis=1)  # NaN comes last
    found[~whole] = ordered[np.arange(len(ordered)), np.maximum(count[~whole] - 1, 0) // 2]
    return found
