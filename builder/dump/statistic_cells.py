"""The statistics of records as numbers, and how far apart two such are, whoever compares them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Cell: TypeAlias = float | bool | str | None
Floats: TypeAlias = NDArray[np.float64]
# What stands beside a mask is the exponent of a softmax, a logarithm of a probability or such a
# mask's own zeros: eˣ is off by the share by which x is off in units of 1, whatever x itself is.
OWN_SCALE = 1.0


def number_of(cell: Cell) -> float:
    """A statistic as a dump may spell it; NaN where none is recorded or the text is no number."""
    try:
        return float(cell) if cell is not None else float("nan")
    except ValueError:
        return float("nan")


def constant_of(largest: Cell, smallest: Cell) -> float | None:
    """The one number that all elements of a tensor are; None where they are not known to be one."""
    numbers = number_of(largest), number_of(smallest)
    return numbers[0] if numbers[0] == numbers[1] and isfinite(numbers[0]) else None


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
    and a value that is non-finite on one side only give infinity. Where the scale is not finite
    the benchmark itself is the scale, and OWN_SCALE at least.
    """
    with np.errstate(all="ignore"):
        difference = np.abs(problem - benchmark)
        ratio = difference / scale
        same = (problem == benchmark) | (np.isnan(problem) & np.isnan(benchmark))
        both_infinite = np.isinf(problem) & np.isinf(benchmark)
        finite_pair = np.isfinite(problem) & np.isfinite(benchmark)
        # Beside an infinite or NaN scale a statistic has none but its own.
        own = np.fmax(np.abs(benchmark), OWN_SCALE)
        ratio = np.where(np.isfinite(scale), ratio, difference / own)
        ratio = np.where(finite_pair, ratio, np.inf)
        ratio = np.where(np.isnan(ratio), np.inf, ratio)
        return np.asarray(np.where(same, 0.0, np.where(both_infinite, 1.0, ratio)))
