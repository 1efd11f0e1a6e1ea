"""Tells gradients that are nothing but rounding from gradients that differ.

A reduction of gradients may cancel to zero in exact arithmetic (the bias of an attention key is
one); what is left is the rounding of what went in, and differs entirely between two sound runs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from builder.match.nodes import Matching
from builder.measure.statistics import Floats, Statistics


def forgive_rounding(
    error: Floats,
    limit: Floats,
    distance: Floats,
    reduced: tuple[Floats, Floats],
    size: Floats,
) -> Floats:
    """Errors of reductions, set to at most the tolerance where rounding alone explains them.

    All arrays are by value pair. `distance` is how far apart the sides are as an L2 norm,
    `reduced` the L2 norm and the element count of what was summed up (NaN where the value is no
    reduction of gradients). A distance up to `limit` times that norm is its rounding.
    """
    norm, count = reduced
    with np.errstate(invalid="ignore"):
        rounding = (size < count) & (distance <= limit * norm)
    return np.asarray(np.where(rounding & (error > limit), limit, error))


def statistical_distance(problem: Statistics, benchmark: Statistics) -> Floats:
    """The least L2 distance that the statistics of two tensors allow.

    The norms differ by at most the distance, a mean by at most distance/√n, an extreme by at most
    the distance. NaN where nothing finite is recorded on both sides.
    """
    both = problem.recorded & benchmark.recorded
    with np.errstate(invalid="ignore"):
        parts = np.abs(problem.table - benchmark.table)
    parts[2] *= np.sqrt(np.maximum(benchmark.size, 1.0))
    parts[~both] = -1.0
    least = parts.max(axis=0, initial=-1.0)
    return np.asarray(np.where(both.any(axis=0), least, np.nan))


def reduced_gradients(
    matching: Matching,
    nodes: NDArray[np.int64],
    is_output: NDArray[np.bool_],
    benchmark: Statistics,
) -> tuple[Floats, Floats]:
    """The norm and element count of the gradient that each gradient value was computed from.

    It is the largest input of the same backward entry, for a parameter's gradient that of its
    module's backward entry.
    """
    order = len(matching.problem.in_order)
    norm, size = np.full(order, np.nan), np.full(order, np.nan)
    usable = ~is_output & benchmark.recorded[3] & np.isfinite(benchmark.table[3])
    np.fmax.at(norm, nodes[usable], benchmark.table[3][usable])
    np.fmax.at(size, nodes[usable], benchmark.size[usable])
    for node in matching.problem.in_order:
        entry = node.entry
        if entry is None or entry.direction != "backward":
            norm[node.exec_order] = np.nan
        elif entry.kind == "parameters_grad":
            module = matching.problem.by_name.get(entry.twin("backward")) or node.parent
            assert module is not None
            norm[node.exec_order] = norm[module.exec_order]
            size[node.exec_order] = size[module.exec_order]
    return norm[nodes], size[nodes]
