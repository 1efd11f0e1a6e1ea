"""The tolerance of each row: what rounding leaves of its format, at its depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.compare.pair_forms import PairForms
from builder.compare.score import Tolerance, coarsest_epsilon
from builder.compare.statistics import Floats, Statistics
from builder.dump.values import Record
from msprobe_core.format import is_integer_dtype, spacing_near_zero


@dataclass(frozen=True, slots=True)
class RowTolerances:
    """By row the `limit` of its error, and the `spacing` of its formats' numbers near zero.

    `rounding` is what one call may leave of the terms of a sum, relative to them: the limit, but
    for a value that is zero in every element on one side alone that at the input. Terms may cancel
    to nothing in one of two sound runs; they do not vanish by what came before them.
    """

    limit: Floats
    rounding: Floats
    spacing: Floats


def tolerances_of(
    pair_forms: PairForms,
    depth: Floats,
    precision: tuple[str, str],
    tolerance: Tolerance,
    statistics: tuple[Statistics, Statistics],
) -> RowTolerances:
    """The tolerances of all rows; `depth` is how many blocks each has passed.

    Integers know no rounding: those that differ at all are one apart in some element, that is by
    1/(√n·max) of their norm at least, and so beyond a tolerance of half of that.
    """

    def epsilon(p: Record, b: Record) -> float:
        return coarsest_epsilon((p.dtype, b.dtype, *precision))

    epsilons, integer = pair_forms.spread(epsilon), pair_forms.spread(_are_integers) > 0
    largest = np.nan_to_num(np.abs(statistics[1].table[:2]).max(axis=0), posinf=1.0)
    norm = np.fmax(largest, 1.0) * np.sqrt(np.fmax(statistics[1].size, 1.0))
    least = np.where(integer, 0.5 / norm, 1.0)
    limit, local = (
        np.minimum(tolerance.of(blocks, epsilons), least)
        for blocks in (depth, np.zeros_like(depth))
    )
    rounding = np.where(_vanish_on_one_side(*statistics), local, limit)
    return RowTolerances(limit, rounding, pair_forms.spread(_spacing))


def _are_integers(p: Record, b: Record) -> float:
    return float(all(is_integer_dtype(record.dtype or "") for record in (p, b)))


def _vanish_on_one_side(left: Statistics, right: Statistics) -> NDArray[np.bool_]:
    """Which values are zero in every element on one side alone."""
    ours, theirs = (
        (side.table[:2] == 0).all(axis=0) & side.recorded[:2].all(axis=0) for side in (left, right)
    )
    return np.asarray((ours != theirs) & left.recorded[0] & right.recorded[0])


def _spacing(p: Record, b: Record) -> float:
    return max(spacing_near_zero(record.dtype or "") for record in (p, b))
