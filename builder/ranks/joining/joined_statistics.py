"""Max, Min, Mean and Norm of a whole from those of its parts, exact where the layout allows it.

Arrays are [4, instances, parts]; the parts' axes run innermost first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from builder.dump.statistic_cells import scaled_difference
from builder.ranks.joining.layouts import AxisLayout

Floats = NDArray[np.float64]
MAX, MIN, MEAN, NORM = range(4)


def join_statistics(table: Floats, count: Floats, axes: Sequence[AxisLayout]) -> Floats:
    """The statistics [4, instances] of the whole; NaN where they cannot be known.

    `count` [parts] are the parts' element counts. Cut: max, min, Σnm/Σn, √ΣN². Summed: Σm alone,
    averaged: its mean; extremes and norm of a sum do not follow from those of its parts.
    """
    instances, parts = table.shape[1:]
    weights = np.broadcast_to(count, (instances, parts))
    for axis in axes:
        parts //= axis.size
        table = table.reshape(4, instances, parts, axis.size)
        weights = weights.reshape(instances, parts, axis.size)
        table, weights = _join(table, weights, axis)
    return table.reshape(4, instances)


def _join(table: Floats, weights: Floats, axis: AxisLayout) -> tuple[Floats, Floats]:
    if axis.kind == "R":
        return table[..., 0], weights[..., 0]
    with np.errstate(all="ignore"):
        if axis.kind == "D":
            total = table[MEAN].sum(-1)
            norm = np.sqrt(np.square(table[NORM]).sum(-1))
            joined = np.stack((table[MAX].max(-1), table[MIN].min(-1), total, norm))
            return joined, weights[..., 0]
        if axis.kind == "S":
            total = weights.sum(-1)
            joined = np.stack(
                (
                    table[MAX].max(-1),
                    table[MIN].min(-1),
                    (table[MEAN] * weights).sum(-1) / np.maximum(total, 1.0),
                    np.sqrt(np.square(table[NORM]).sum(-1)),
                )
            )
            return joined, total
        mean = table[MEAN].sum(-1) / (axis.size if axis.kind == "A" else 1)
    unknown = np.full_like(mean, np.nan)
    if (weights <= 1.0).all():
        # One element is its own extremes, mean and norm.
        return np.stack((mean, mean, mean, np.abs(mean))), weights[..., 0]
    return np.stack((unknown, unknown, mean, unknown)), weights[..., 0]


def bounds(table: Floats, axes: Sequence[AxisLayout]) -> tuple[Floats, Floats]:
    """Least and largest Max, Min, Norm [3, instances] of the whole from its parts' [4, n, parts].

    Of a sum: Σmin ≤ x ≤ Σmax, and by the triangle inequality max(0, 2·max N - ΣN) ≤ N ≤ ΣN.
    """
    instances, parts = table.shape[1:]
    least = most = table[[MAX, MIN, NORM]]
    for axis in axes:
        parts //= axis.size
        grid = 3, instances, parts, axis.size
        least, most = _bounds(least.reshape(grid), most.reshape(grid), axis)
    return least.reshape(3, instances), most.reshape(3, instances)


def _bounds(least: Floats, most: Floats, axis: AxisLayout) -> tuple[Floats, Floats]:
    if axis.kind == "R":
        return least[..., 0], most[..., 0]
    if axis.kind == "S":
        return _union_of(least), _union_of(most)
    norm = most[2].sum(-1)
    with np.errstate(invalid="ignore"):  # inf - inf: infinite parts bound nothing
        low, high = least[1].sum(-1), most[0].sum(-1)
        # What the others cannot take away from the largest part.
        left = (least[2] - (norm[..., None] - most[2])).max(-1)
    left = np.where(np.isinf(norm), 0.0, left)
    share = axis.size if axis.kind == "A" else 1
    lower = np.stack((low, low, np.maximum(0.0, left)))
    return lower / share, np.stack((high, high, norm)) / share


def _union_of(table: Floats) -> Floats:
    norm = np.sqrt(np.square(table[2]).sum(-1))
    return np.stack((table[0].max(-1), table[1].min(-1), norm))


def norms_of_parts(table: Floats) -> Floats:
    """The root of the sum of squared norms [instances] of parts [4, instances, parts]."""
    return np.asarray(np.sqrt(np.nansum(np.square(table[NORM]), axis=-1)))


def outside(least: Floats, most: Floats, theirs: Floats, slack: Floats) -> tuple[Floats, Floats]:
    """What a whole would have to be to lie nearest to the other side, where that is impossible.

    `slack` [instances] is by how much of the scale rounding may break a bound.
    Returns the bound [4, instances] that is exceeded (NaN elsewhere, and for the mean) and by how
    much, relative to the larger of both sides [instances].
    """
    wanted = theirs[[MAX, MIN, NORM]]
    with np.errstate(all="ignore"):
        extreme = np.abs(np.stack((least[:2], most[:2], wanted[:2]))).max(axis=(0, 1))
        scale = np.stack((extreme, extreme, np.fmax(most[2], wanted[2])))
        nearest = np.clip(wanted, least, most)
        excess = np.nan_to_num(np.abs(wanted - nearest) / scale, nan=0.0, posinf=0.0)
    is_out = excess > slack
    kept = np.where(is_out, nearest, np.nan)
    table = np.stack((kept[0], kept[1], np.full_like(kept[0], np.nan), kept[2]))
    return table, np.where(is_out, excess, 0.0).max(axis=0)


def difference(
    ours: Floats, theirs: Floats, count: float, magnitude: Floats | None = None
) -> Floats:
    """The relative error [instances] between two tables [4, instances]; NaN where none is shared.

    Extremes in units of the largest magnitude, means of the root mean square, norms of the norm,
    of the second table or, where a sum left it nothing but its mean, of the first; `magnitude`
    stands in for a norm that neither has.
    """
    scale = np.abs(np.where(np.isnan(theirs), ours, theirs))
    absmax = np.maximum(scale[MAX], scale[MIN])
    norm = (
        scale[NORM]
        if magnitude is None
        else np.where(np.isnan(scale[NORM]), magnitude, scale[NORM])
    )
    rms = np.where(np.isnan(norm), absmax, norm / np.sqrt(np.maximum(count, 1.0)))
    scales = np.stack((absmax, absmax, rms, norm))
    error = scaled_difference(ours, theirs, scales)
    known = ~(np.isnan(ours) | np.isnan(theirs) | np.isnan(scales))
    worst = np.where(known, error, -1.0).max(axis=0)
    return np.asarray(np.where(known.any(axis=0), worst, np.nan))


def disagreement(table: Floats, axes: Sequence[AxisLayout], at: int) -> Floats:
    """How far the parts along one axis differ [instances], which should repeat each other."""
    _, instances, parts = table.shape
    inner = int(np.prod([axis.size for axis in axes[:at]], dtype=int))
    size = axes[at].size
    grid = table.reshape(4, instances, parts // (inner * size), size, inner)
    first = grid[:, :, :, :1, :]
    absmax = np.maximum(np.abs(first[MAX]), np.abs(first[MIN]))
    with np.errstate(all="ignore"):
        apart = np.abs(grid - first)
        norm = np.abs(first[NORM])
        scale = np.stack((absmax, absmax, np.where(norm > 0, norm, absmax), norm))
        relative = apart / scale
        # NaN or infinity on some of the ranks only is no agreement.
        relative = np.where(np.isnan(relative), np.inf, relative)
        same = (grid == first) | (np.isnan(grid) & np.isnan(first))
        relative = np.where(same, 0.0, relative)
    return np.asarray(relative.max(axis=(0, 2, 3, 4)))
