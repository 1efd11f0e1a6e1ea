"""The statistics of records as numbers, and how far apart two such are, whoever compares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Cell: TypeAlias = float | bool | str | None
Floats: TypeAlias = NDArray[np.float64]


def number_of(cell: Cell) -> float:
    """A statistic as a dump may spell it; NaN where none is recorded or the text is no number."""
    try:
        return float(cell) if cell is not None else float("nan")
    except ValueError:
        return float("nan")


def numbers_of(cells: Sequence[Cell]) -> Floats:
    """Many of them, in the same order."""
    try:
        return np.array(cells, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError):
        return np.array([number_of(cell) for cell in cells], dtype=np.float64)


def known_or_none(number: float) -> float | None:
    """The number as a record or a message has it: None for NaN."""
    return None if np.isnan(number) else float(number)


def scaled_difference(problem: Floats, benchmark: Floats, scale: Floats) -> Floats:
    """|problem − benchmark| / scale, with the outcomes that a division cannot give.

    Equal values and non-finite values of the same kind give 0, a difference from a zero scale
    and a value that is non-finite on one side only give infinity.
    """
    with np.errstate(all="ignore"):
        difference = np.abs(problem - benchmark)
        ratio = difference / scale
        same = (problem == benchmark) | (np.isnan(problem) & np.isnan(benchmark))
        both_infinite = np.isinf(problem) & np.isinf(benchmark)
        finite_pair = np.isfinite(problem) & np.isfinite(benchmark)
        # A finite statistic beside an infinite or NaN scale says nothing on its own.
        ratio = np.where(np.isfinite(scale), ratio, 0.0)
        ratio = np.where(finite_pair, ratio, np.inf)
        ratio = np.where(np.isnan(ratio), np.inf, ratio)
        return np.asarray(np.where(same, 0.0, np.where(both_infinite, 1.0, ratio)))
