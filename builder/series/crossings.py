"""Gradients of a few elements pass through zero, and noise of the same size is more octaves there.

Of d signed elements all are 2^-k of their usual size with a chance of some 2^-kd: for one or two
that is every hundredth step, for more than 32 it never happens. What the two runs are apart by is
counted by the usual size then: octaves times the share of it that the smaller one has. So are
losses that have both signs, such as those of policies and likelihoods.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from builder.series.medians import row_medians
from builder.series.run import Key, TrendRun

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

_FEW = 32
_SIGNED = frozenset({"actv_grad", "grad", "exp_avg", "ratio"})
"""Gradients, and what an optimizer makes of them: an update has its parameter's elements."""
WINDOW, RENEWED = 64, 8
"""Steps whose median is the usual size, and how many pass until it is taken anew."""


def of_few(run: TrendRun, keys: Sequence[Key]) -> Places:
    """The targets that are few signed elements."""
    sizes = {target.key: math.prod(target.shape) for target in run.targets}
    return np.asarray(
        [
            i
            for i, (kind, name) in enumerate(keys)
            if kind in _SIGNED
            and sizes.get(("param" if kind == "ratio" else kind, name), _FEW + 1) <= _FEW
        ],
        dtype=np.intp,
    )


def losses_through_zero(keys: Sequence[Key], a: Floats, b: Floats) -> Places:
    """The losses that have both signs, in either run."""
    losses = np.asarray([i for i, (kind, _) in enumerate(keys) if kind == "loss"], dtype=np.intp)
    both = np.concatenate([a[:, losses], b[:, losses]])
    both[~np.isfinite(both)] = 0
    return losses[(both < 0).any(0) & (both > 0).any(0)]


def shares_of_usual(a: Floats, b: Floats, few: Places) -> Floats:
    """[step][target]: the smaller value by its usual one, 1 at most; 1 for all but `few`."""
    shares = np.ones_like(a)
    if not len(few):
        return shares
    smaller = np.minimum(np.abs(a[:, few]), np.abs(b[:, few]))
    smaller[~np.isfinite(smaller)] = np.nan
    for start in range(1, len(a), RENEWED):
        usual = row_medians(smaller[max(0, start - WINDOW) : start].T)
        with np.errstate(all="ignore"):
            found = smaller[start : start + RENEWED] / usual
        shares[start : start + RENEWED, few] = np.where(found < 1, found, 1.0)
    return shares
