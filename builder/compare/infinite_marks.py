"""Infinities as marks: a mask of -inf has the same statistics wherever it hides elements."""

from __future__ import annotations

import numpy as np

from builder.compare.statistics import Floats, Statistics
from builder.dump.values import Record


def marks_apart(
    records: tuple[list[Record], list[Record]], statistics: tuple[Statistics, Statistics]
) -> tuple[Floats, Floats] | None:
    """By row how far apart the infinities of both sides are, and their norm, as marks of one each.

    n and m marks are √|n − m| apart at least, and their norm is √m. None where no row is apart.
    Only where one extreme is infinite on both sides and the other is one finite number: what was
    rounded otherwise may overflow in one run more often than in the other.
    """
    ours, theirs = (side.table[:2] for side in statistics)
    alike = (ours == theirs).all(axis=0) & (np.isinf(ours).sum(axis=0) == 1)
    apart, norm = np.zeros(len(alike)), np.zeros(len(alike))
    for row in np.flatnonzero(alike).tolist():
        n, m = (side[row].inf_count for side in records)
        if n is not None and m is not None and n != m:
            apart[row], norm[row] = abs(n - m) ** 0.5, max(n, m) ** 0.5
    return (apart, norm) if apart.any() else None
