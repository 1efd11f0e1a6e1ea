"""The gradients of parameters as entries record them, for telling what a later one adds up to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.statistics import Floats
from builder.match.tree import TreeNode
from msprobe_core.format import machine_epsilon

# Roundings of a format by which a sum of two gradients may be off: of each term, of the sum, and
# of what they are computed from.
_ROUNDINGS = 4.0
# Sketches are stored in float32, three of which are added.
_RESOLUTION = 3 * 2.0**-21


@dataclass(frozen=True, slots=True)
class StoredGradients:
    """What one entry says of the gradients of a module's parameters taken together.

    `ours` and `theirs` are nine projections of each side, as bytes of float64: the sum of the
    parameters' sketches, and that of their means times the roots of their sizes; NaN where a dump
    has none. All are linear: those of a sum are the sum of its terms'. `rounding` is the distance
    that rounding leaves.
    """

    node: int
    owner: str
    ours: bytes
    theirs: bytes
    rounding: float


def stored_gradients(
    comparison: Comparison, id_of: Callable[[TreeNode], int]
) -> tuple[StoredGradients, ...]:
    """What all entries with gradients of parameters say, in the order of the problem's nodes."""
    order = comparison.matching.problem.in_order
    held = [node for node in order if node.holds_gradients and node in comparison.matching.partner]
    if not held:
        return ()
    sides = (_projections(comparison, 0), _projections(comparison, 1))
    rounding = _rounding(comparison)
    orders = np.array([[node.exec_order, node.exec_order + 1] for node in held])
    bounds = np.searchsorted(comparison.pairs.node, orders).tolist()
    rows = zip(held, (slice(start, stop) for start, stop in bounds))
    return tuple(
        StoredGradients(
            id_of(node),
            node.owner,
            sides[0][own].sum(axis=0).tobytes(),
            sides[1][own].sum(axis=0).tobytes(),
            float(rounding[own].sum()),
        )
        for node, own in rows
    )


def _projections(comparison: Comparison, side: Literal[0, 1]) -> Floats:
    pairs, own = comparison.pairs, comparison.statistics[side]
    columns = comparison.columns[side]
    sketches = columns.take_sketches((pairs.problem, pairs.benchmark)[side])
    with np.errstate(invalid="ignore"):
        means = own.table[2] * np.sqrt(own.size)
    return np.column_stack((sketches, means))


def _rounding(comparison: Comparison) -> Floats:
    ours, theirs = comparison.statistics
    forms = [machine_epsilon(form.dtype or "") or 0.0 for form in comparison.forms.listed()]
    epsilon = np.append(np.array(forms), 0.0)[
        np.append(comparison.columns[0].forms, -1)[comparison.pairs.problem]
    ]
    with np.errstate(invalid="ignore"):
        norms = ours.table[3] + theirs.table[3]
    return np.asarray((_ROUNDINGS / 2 * epsilon + _RESOLUTION) * norms)
