"""The gradients of parameters as entries record them, for telling what a later one adds up to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from builder.compare.comparison import Comparison
from builder.evidence.linear_projections import projections, rounding_of_sums
from builder.match.tree import TreeNode

_SIDES: tuple[Literal[0, 1], ...] = (0, 1)


@dataclass(frozen=True, slots=True)
class StoredGradients:
    """What one entry says of the gradient of one parameter, `owner` being its name there.

    `ours` and `theirs` are nine projections of each side, as bytes of float64: its sketch, and its
    mean times the root of its size; NaN where a dump has none. All are linear: those of a sum are
    the sum of its terms'. `rounding` is the distance that rounding leaves.
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
    orders = np.array([[node.exec_order, node.exec_order + 1] for node in held])
    bounds = np.searchsorted(comparison.pairs.node, orders).tolist()
    rows = [(node, row) for node, (start, stop) in zip(held, bounds) for row in range(start, stop)]
    numbers = np.array([row for _, row in rows], dtype=np.int64)
    ours, theirs = (projections(comparison, side, numbers) for side in _SIDES)
    rounding = rounding_of_sums(comparison, numbers)
    return tuple(
        StoredGradients(
            id_of(node),
            f"{node.owner}.{comparison.keys[row]}",
            ours[at].tobytes(),
            theirs[at].tobytes(),
            float(rounding[at]),
        )
        for at, (node, row) in enumerate(rows)
    )
