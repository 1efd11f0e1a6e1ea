"""Recognises a parameter's gradient when the optimizer reads it multiplied by a number.

Clipping and loss scaling change a gradient in place and often leave no entry in a dump.
"""

from __future__ import annotations

from math import sqrt

from builder.compare.score import coarsest_epsilon
from builder.compare.statistics import element_count
from builder.dump.values import Record

# Roundings of the elements behind a statistic, on the way through the multiplication.
_ROUNDINGS = 4.0


class ScaledGradients:
    """Gradients by the proportions of their statistics, which a factor leaves alone."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], list[tuple[float, ...]]] = {}

    def add(self, record: Record) -> None:
        """Remember a gradient; one without finite statistics is passed over."""
        proportions = _proportions(record)
        if proportions is not None:
            self._known.setdefault(record.shape or (), []).append(proportions)

    def knows(self, record: Record) -> bool:
        """Whether a value is a remembered gradient times a positive number."""
        own = _proportions(record)
        if own is None or record.dtype is None:
            return False
        near = _ROUNDINGS * coarsest_epsilon([record.dtype])
        known = self._known.get(record.shape or (), ())
        return any(_are_near(own, other, near) for other in known)


def _are_near(own: tuple[float, ...], other: tuple[float, ...], near: float) -> bool:
    *extremes, means = zip(own, other, strict=True)
    # A mean may cancel, so that it is near in units of the root mean square alone.
    return abs(means[0] - means[1]) <= near and all(
        abs(a - b) <= near * max(abs(a), abs(b)) for a, b in extremes
    )


def _proportions(record: Record) -> tuple[float, float, float] | None:
    """Max and Min in units of the norm, Mean in units of the root mean square."""
    cells = (record.Max, record.Min, record.Mean, record.Norm)
    if any(cell is None or isinstance(cell, str) for cell in cells):
        return None
    highest, lowest, mean, norm = (float(cell) for cell in cells if cell is not None)
    if not 0.0 < norm < float("inf"):
        return None
    return highest / norm, lowest / norm, mean / norm * sqrt(element_count(record.shape))
