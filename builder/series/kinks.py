"""How far one element can move the norm of a gradient.

Rounding puts an element that is nearly zero on the other side of a ReLU's kink (or of a maximum's
tie): its gradient comes or goes, while the output hardly changes. Without an element that has the
share s = g_i^2 / |g|^2, log2 |g| is less by -log2(1 - s) / 2; the largest element bounds it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from builder.series.medians import row_medians
from builder.series.next_dump import module_of
from builder.series.pieces import Steps
from builder.series.run import Key, TrendRun

Floats = NDArray[np.float64]

BACKWARD = frozenset({"actv_grad", "grad", "grad_norm"})
_MOST = 0.75
"""A share that halves the norm; where one element is nearly all, nothing could be told of it."""
_UNKNOWN = 16 / 1024
"""The share of an element of four sigma in a small layer; where no outputs are followed."""


def largest_kinks(run: TrendRun, keys: Sequence[Key], steps: Steps) -> Floats:
    """[step][target] in octaves; 0 for what the backward pass does not make.

    That of a parameter's gradient is that of its module's output, else of the median one.
    """
    found = np.zeros((len(steps), len(keys)))
    columns = {name: i for i, (kind, name) in enumerate(keys) if kind == "actv_grad"}
    shares = _largest_shares(run, [keys[i] for i in columns.values()], steps)
    usual = row_medians(shares)
    usual[np.isnan(usual)] = _UNKNOWN
    by_module = {name.partition("[")[0]: place for place, name in enumerate(columns)}
    for column, key in enumerate(keys):
        if key[0] in BACKWARD:
            place = by_module.get(module_of(key) or "")
            share = usual if place is None else shares[:, place]
            found[:, column] = -np.log2(1 - np.where(share > 0, share, usual)) / 2
    return found


def _largest_shares(run: TrendRun, keys: Sequence[Key], steps: Steps) -> Floats:
    """[step][target]: the square of the largest element by that of the norm; NaN if not known."""
    low, high, norm = (
        run.values_at(steps, keys, name).astype(np.float64) for name in ("min", "max", "norm")
    )
    with np.errstate(all="ignore"):
        shares: Floats = np.fmax(low**2, high**2) / norm**2
    shares[~np.isfinite(shares)] = np.nan
    return np.minimum(shares, _MOST)
