"""Sums that sketches tell exactly: they are linear, so those of a sum are the sum of its terms'.

Where the benchmark's sketches add up, the problem's have to as well, however far apart the terms
are: nothing but rounding is expected, where bounds would allow what came with the terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from builder.diagnosis.excess import FORMS, Excess, excess_over
from builder.evidence.distances import Evidence
from builder.match.tree import TreeNode
from builder.operators.table import has

_MOST_TERMS = 2


def of_call(known: Evidence, node: TreeNode, row: int) -> Excess | None:
    """The excess of what a linear call put out, of terms of the same size; None for others."""
    if not has(node.call, "ordered"):
        return None
    terms = [r for r in known.inputs(node) if not known.paired.is_integer(r)]
    if not terms or len(terms) > _MOST_TERMS:
        return None
    rounding = known.noise[row] + sum(map(known.uncertain, (row, *terms)))
    sums = (
        of_sum(known, row, terms, rounding, signs) for signs in product((1, -1), repeat=len(terms))
    )
    return next((one for one in sums if one is not None), None)


def of_sum(
    known: Evidence, row: int, terms: Sequence[int], rounding: float, signs: Sequence[int] = ()
) -> Excess | None:
    """The excess of a sum over its terms, None where the benchmark's do not add up to it."""
    if any(known.size[term] != known.size[row] for term in terms):
        return None
    if any(known.partial[each] for each in (row, *terms)):
        return None  # what is left out of a term may be there in the sum
    ours, theirs = (_missing(known, side, row, terms, signs) for side in (0, 1))
    if ours is None or theirs is None or theirs > FORMS * rounding:
        return None
    came = max(0.0, known.distance[row] - ours)
    return excess_over(ours, rounding + theirs, row, came=came, told=True)


def _missing(
    known: Evidence, side: int, row: int, terms: Sequence[int], signs: Sequence[int]
) -> float | None:
    """How far the values of one side are from adding up."""
    sketches = known.paired.comparison.columns[side].sketches
    if sketches is None:
        return None
    whole = known.paired.value_pair(row)[side]
    parts = sketches[[known.paired.value_pair(term)[side] for term in terms]]
    weights = np.array(signs or [1] * len(terms), dtype=float)
    apart = float(np.sqrt(np.mean((sketches[whole] - weights @ parts) ** 2)))
    return apart if np.isfinite(apart) else None
