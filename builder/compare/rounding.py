"""Tells gradients that are nothing but rounding from gradients that differ.

A reduction of gradients may cancel to zero in exact arithmetic (the bias of an attention key is
one); what is left is the rounding of what went in, and differs entirely between two sound runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from builder.compare.score import LARGEST
from builder.compare.statistics import Floats, Statistics
from builder.match.nodes import Matching
from builder.match.tree import TreeNode
from builder.operators.table import has, operator

# The gradient that goes into a reduction carries a whole pass of rounding, element by element,
# which its norm does not show.
REDUCTION = 4.0
# Tokens at the edge between two experts, and estimates of distances, are off by a factor that is
# rarely larger.
_MOVED = 2.0
# Two right results of one call, each within one unit in the last place of the exact one and rounded
# without regard to the other, are hardly further apart than one and a half units of an element.
ROUNDED = 1.5


@dataclass(frozen=True, slots=True)
class MovedTokens:
    """The share of a layer's tokens that rounding gave to other experts, and by the names of nodes
    the share that it may have given where no record shows the choices.

    `unordered` names the calls that read elements in an order of which nothing is known.
    """

    share: float = 0.0
    unseen: Mapping[str, float] = field(default_factory=dict)
    unordered: Collection[str] = frozenset()


NOTHING_MOVED = MovedTokens()


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
    reduction of gradients). A distance of a few times `limit` times that norm is its rounding, but
    never more than any tolerance is.
    """
    norm, count = reduced
    with np.errstate(invalid="ignore"):
        rounding = (size < count) & (distance <= np.minimum(REDUCTION * limit, LARGEST) * norm)
    return _held(error, limit, rounding)


def underflow(spacing: Floats, size: Floats) -> Floats:
    """The L2 distance that rounding leaves of values so small that their format has few numbers.

    `spacing` is how far apart the numbers of a value's format lie near zero: each element is off
    by up to ROUNDED times that, whatever its own size.
    """
    return np.asarray(ROUNDED * spacing * np.sqrt(size))


def forgive_underflow(
    error: Floats, limit: Floats, distance: Floats, spacing: Floats, size: Floats
) -> Floats:
    """Errors set to at most the tolerance where the spacing of numbers near zero explains them."""
    with np.errstate(invalid="ignore"):
        lost = np.isfinite(error) & (distance <= underflow(spacing, size))
    return _held(error, limit, lost)


def forgive_moved_tokens(
    error: Floats,
    limit: Floats,
    distance: Floats,
    norm: Floats,
    moved: MovedTokens,
    matching: Matching,
    nodes: NDArray[np.int64],
) -> Floats:
    """Errors set to at most the tolerance where moved tokens explain them: those of gradients, and
    of calls of the forward pass that join what experts answered.

    m of T terms of like size that are taken away from a sum and others put there leave it √(2m/T)
    of its norm apart. So do m of T rows that are answered by another expert, and with a capacity
    the two that lose and win their places by that: √(4m/T). Where a forward call reads all in an
    order that is known, it is judged by what it reads instead.
    """
    if moved.share == 0 and not moved.unseen:
        return error
    share = np.array([_share_behind(node, moved) for node in matching.problem.in_order])[nodes]
    with np.errstate(invalid="ignore"):
        explained = (share > 0) & (distance <= _MOVED * np.sqrt(2 * share) * norm)
    return _held(error, limit, explained & np.isfinite(error))


def _share_behind(node: TreeNode, moved: MovedTokens) -> float:
    if node.phase == "forward":
        return moved.share if node.name in moved.unordered else 0.0
    return max(moved.share, moved.unseen.get(node.name, 0.0))


def _held(error: Floats, limit: Floats, explained: NDArray[np.bool_]) -> Floats:
    """Errors set to at most the tolerance in the rows that something explains."""
    return np.asarray(np.where(explained & (error > limit), limit, error))


def statistical_distance(problem: Statistics, benchmark: Statistics) -> Floats:
    """The least L2 distance that the statistics of two tensors allow.

    The norms differ by at most the distance, a mean by at most distance/√n, an extreme by at most
    the distance. NaN where nothing finite is recorded on both sides.
    """
    both = problem.recorded & benchmark.recorded
    with np.errstate(invalid="ignore"):
        parts = np.abs(problem.table - benchmark.table)
    parts[2] *= np.sqrt(np.maximum(benchmark.size, 1.0))
    parts[~both | np.isnan(parts)] = -1.0  # infinity of both sides, or NaN, is no distance
    least = parts.max(axis=0, initial=-1.0)
    return np.asarray(np.where(least >= 0, least, np.nan))


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
        if node.entry is None or node.direction != "backward":
            norm[node.exec_order] = np.nan
        elif node.holds_gradients:
            module = node.backward or node.parent
            assert module is not None
            norm[node.exec_order] = norm[module.exec_order]
            size[node.exec_order] = size[module.exec_order]
    return norm[nodes], size[nodes]


def forgive_products(
    error: Floats,
    limit: Floats,
    distance: Floats,
    matching: Matching,
    nodes: NDArray[np.int64],
    benchmark: Statistics,
    shapes: Sequence[tuple[int, ...] | None],
) -> Floats:
    """Errors of weight gradients, set to at most the tolerance where rounding alone explains them.

    A weight's gradient sums dy_t x_tᵀ over T positions; where each dy_t is off by a random part of
    `limit`, the sum is off by limit·‖dy‖·‖x‖/√T; twice that is believed. It matters where products
    cancel. dy is the first input of the module's backward call, x that of its forward call.
    """
    error = error.copy()
    for row in np.flatnonzero((error > limit) & np.isfinite(error)).tolist():
        node = matching.problem.in_order[nodes[row]]
        shape: tuple[int, ...] = shapes[row] or ()
        if not node.holds_gradients or len(shape) < 2:
            continue
        flowing, _ = _first_input(node.backward, nodes, benchmark)
        norm, size = _first_input(node.forward, nodes, benchmark)
        positions = max(1.0, size / max(1, shape[1]))
        if distance[row] <= min(2 * limit[row], LARGEST) * flowing * norm / np.sqrt(positions):
            error[row] = limit[row]
    return error


def _first_input(
    node: TreeNode | None, nodes: NDArray[np.int64], benchmark: Statistics
) -> tuple[float, float]:
    """Norm and element count of the first input, 0 where none is recorded."""
    if node is None:
        return 0.0, 0.0
    row = int(np.searchsorted(nodes, node.exec_order))
    if row == len(nodes) or nodes[row] != node.exec_order or not benchmark.recorded[3][row]:
        return 0.0, 0.0
    return float(benchmark.table[3][row]), float(benchmark.size[row])


def forgive_quotients(
    error: Floats,
    limit: Floats,
    distance: Floats,
    matching: Matching,
    nodes: NDArray[np.int64],
    is_output: NDArray[np.bool_],
    benchmark: Statistics,
) -> Floats:
    """Errors of divisions, set to at most the tolerance where the divisor nearly vanishes.

    To first order a quotient n/d is off by tol·max|n|/min|d|; an optimizer that divides by the
    root of a nearly empty second moment turns rounding into steps of full size that way.
    """
    error = error.copy()
    magnitude = np.maximum(np.abs(benchmark.table[0]), np.abs(benchmark.table[1]))
    smallest = np.minimum(np.abs(benchmark.table[0]), np.abs(benchmark.table[1]))
    crosses_zero = np.sign(benchmark.table[0]) != np.sign(benchmark.table[1])
    smallest = np.where(crosses_zero, 0.0, smallest)
    for row in np.flatnonzero(is_output & (error > limit) & np.isfinite(error)):
        node = matching.problem.in_order[nodes[row]]
        if not has(node.call, "divides") or node.direction != "forward":
            continue
        start, stop = np.searchsorted(nodes, [nodes[row], nodes[row] + 1])
        inputs = [r for r in range(start, stop) if not is_output[r] and benchmark.recorded[0][r]]
        arguments = (r for r in range(start, stop) if not is_output[r] and r not in inputs)
        if len(inputs) != operator(node.call).operands or any(error[r] > 0 for r in arguments):
            continue  # another argument is no rounding
        numerator = max((magnitude[r] for r in inputs[:-1]), default=1.0)
        divisor = smallest[inputs[-1]]
        allowed = np.sqrt(benchmark.size[row]) * limit[row] * numerator
        if distance[row] * divisor <= allowed:
            error[row] = limit[row]
    return error
