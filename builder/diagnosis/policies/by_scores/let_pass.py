"""What differs without a finding: by rounding alone or not, and gradients that are scaled since.

Clipping and loss scaling change a gradient in place and often leave no entry in a dump: a
parameter's gradient is recognised when the optimizer reads it multiplied by a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from builder.compare.score import coarsest_epsilon
from builder.compare.statistics import element_count
from builder.diagnosis.attribution import Attribution
from builder.diagnosis.facts import Facts
from builder.dump.values import Record
from builder.flow.fingerprints import NO_PRINT
from builder.match.tree import TreeNode
from builder.match.value_pairing import SURPLUS

# Roundings of the elements behind a statistic, on the way through the multiplication.
_ROUNDINGS = 4.0


class LetPass:
    """What of the differing values may pass.

    Invariant: `rounding` are those of the values that pass, by fingerprint, which differ by
    rounding alone; `reselected_at`: where in execution order rounding first picked other elements,
    so that gradients of other elements follow.
    """

    def __init__(self, facts: Facts, known: Attribution) -> None:
        self.scaled = ScaledGradients()
        self.rounding: set[int] = set()
        self.reselected_at: int | None = None
        self._facts, self._known = facts, known
        self._values = facts.comparison.matching.problem.dump.values

    @property
    def reselected(self) -> bool:
        """Whether rounding has picked other elements."""
        return self.reselected_at is not None

    def are(self, rows: list[int]) -> bool:
        """Whether the problem side's values of rows were let pass where they were made."""
        return self.prints(rows) <= self._known.tolerated

    def prints(self, rows: list[int]) -> set[int]:
        """The fingerprints of the problem side's values of rows."""
        return self._known.fingerprints(self._facts.paired.problem_values(rows))

    def note(self, values: Sequence[int], *, rounding: bool) -> None:
        """Hear that values may pass, by rounding or because they grew too slowly to begin here."""
        if rounding:
            self.rounding |= self._known.fingerprints(values) - {NO_PRINT}
        for value in values:
            if value != SURPLUS and self._values.keys[value].startswith("parameters_grad"):
                self.scaled.add(self._values.records[value])

    def note_selection(self, node: TreeNode) -> None:
        """Hear that rounding picked other elements in a call."""
        if self.reselected_at is None:
            self.reselected_at = node.exec_order


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
