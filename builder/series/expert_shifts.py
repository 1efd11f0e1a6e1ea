"""What one expert computes otherwise, though tokens change places in every step.

A token more or less moves the norm of an expert's output by its size, the root mean square by
little and to either side. So that is held against its own last steps, once tokens have changed
places in half of them: were steps alike, eight that follow each other would be the largest of 72
with a chance of 1e-10, and all on one side are fewer still.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from builder.series.sliding import sliding

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

WINDOW, LASTING = 64, 8
"""Steps that an expert is held against, and those that have to leave them to one side."""
_RISE = 1.25
"""Octaves above the largest of them: half an octave above what five sound pairs of experts reach
(0.76; `evaluation/trend_cases/unseen.py`, seeds 23 to 25), where an output x0.9 rises by 1.1 and
1.8. Steps are not quite alike: a hard batch sends tokens elsewhere for longer."""
_LEAST = 2.0**-21
"""Octaves; norms of float32 have no finer ones."""


def shifts_of_experts(apart: Floats, aside: Mask, before: Floats) -> tuple[Mask, Floats]:
    """[step][target] where an expert parts, and log2 of what it has to exceed for that.

    `apart` is log2 of root mean squares of one run by the other's, NaN for all but experts; `aside`
    the steps in which tokens changed places, `before` the octaves that a step has risen by so far.
    """
    found = np.zeros(apart.shape, dtype=bool)
    limits = np.full(apart.shape, np.inf)
    experts = np.flatnonzero(np.isfinite(apart).any(0))
    steps = len(apart) - WINDOW - LASTING + 1
    if steps < 1 or not len(experts):
        return found, limits
    signed = np.where(np.isfinite(apart[:, experts]), apart[:, experts], 0.0)
    lasting = np.maximum(*(sliding(np.minimum, side, LASTING) for side in (signed, -signed)))
    largest = sliding(np.maximum, np.abs(signed), WINDOW)[:steps]
    changed = np.concatenate([np.zeros((1, len(experts)), np.intp), aside[:, experts].cumsum(0)])
    often = 2 * (changed[WINDOW:] - changed[:-WINDOW])[:steps] >= WINDOW
    judged = np.s_[WINDOW : WINDOW + steps]
    limit = np.log2(np.maximum(largest, _LEAST)) + before[judged][:, experts] + _RISE
    rows = np.arange(WINDOW, WINDOW + steps)[:, None]
    found[rows, experts] = often & (lasting[WINDOW:] > 2.0**limit)
    limits[rows, experts] = limit
    return found, limits
