"""Which errors above their tolerance are let pass, and by what: the judged error of a value.

The measured error stays what it is, for whoever reads it; the diagnosis goes by the judged one,
which is the tolerance itself where something explains all of the measured one. What inputs explain
begins nowhere, and yet it differs: people are told the score of what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from builder.compare.rounding import (
    MovedTokens,
    forgive_moved_tokens,
    forgive_products,
    forgive_quotients,
    forgive_rounding,
    forgive_underflow,
    reduced_gradients,
)
from builder.compare.row_tolerances import RowTolerances
from builder.compare.score import score_of
from builder.compare.statistics import Bools, Floats, Statistics
from builder.match.nodes import Matching

LetPassBy: TypeAlias = Literal["rounding", "inputs", "moved"]


@dataclass(frozen=True, slots=True)
class Judged:
    """The error of each row as it is judged, and by row what lets a larger measured one pass.

    A rule that holds for inputs within their tolerance allows the more, the further its inputs are
    apart: where one of them is beyond its tolerance, `inputs` explain the error, not `rounding`.
    `score` is that of the judged error, `stated` the one that people are told: where inputs explain
    an error, its measured one, at most as high as that of the worst of them.
    """

    error: Floats
    let_pass: dict[int, LetPassBy]
    score: Floats
    stated: Floats


def not_judged(error: Floats, limit: Floats) -> Judged:
    """Errors as they were measured: nothing is let pass."""
    score = score_of(error, limit)
    return Judged(error, {}, score, score)


@dataclass(frozen=True, slots=True)
class Measured:
    """What is known of each row before anything is let pass."""

    error: Floats
    allowed: RowTolerances
    distance: Floats
    norm: Floats
    is_output: Bools
    nodes: NDArray[np.int64]
    benchmark: Statistics
    shapes: Sequence[tuple[int, ...] | None]


def judged(known: Measured, matching: Matching, moved: MovedTokens) -> Judged:
    """Judge measured errors by what rounding, inputs and moved tokens explain of them."""
    limit, rounding, spacing = known.allowed.limit, known.allowed.rounding, known.allowed.spacing
    distance, nodes = known.distance, known.nodes
    benchmark, is_output = known.benchmark, known.is_output
    fine = forgive_underflow(known.error, limit, distance, spacing, benchmark.size)
    reduced = reduced_gradients(matching, nodes, is_output, benchmark)
    error = forgive_rounding(fine, rounding, distance, reduced, benchmark.size)
    error = forgive_products(error, rounding, distance, matching, nodes, benchmark, known.shapes)
    error = forgive_quotients(error, rounding, distance, matching, nodes, is_output, benchmark)
    error = np.where(error == rounding, limit, error)
    last = forgive_moved_tokens(error, limit, distance, known.norm, moved, matching, nodes)
    score = score_of(last, limit)
    read = _worst_read(known, matching, score)
    let_pass: dict[int, LetPassBy] = dict.fromkeys(_fallen(known.error, error), "rounding")
    let_pass |= dict.fromkeys((r for r in _fallen(fine, error) if read[r] > 0), "inputs")
    let_pass |= dict.fromkeys(_fallen(error, last), "moved")
    explained = [row for row, by in let_pass.items() if by == "inputs"]
    stated = score.copy()
    stated[explained] = np.minimum(score_of(known.error, limit), read)[explained]
    return Judged(last, let_pass, score, stated)


def _fallen(before: Floats, after: Floats) -> list[int]:
    with np.errstate(invalid="ignore"):
        return list(np.flatnonzero(after < before).tolist())


def _worst_read(known: Measured, matching: Matching, score: Floats) -> Floats:
    """By row the worst score of what its node reads, 0 where that agrees."""
    worst = np.zeros(len(matching.problem.in_order))
    inputs = ~known.is_output & ~np.isnan(score)
    np.maximum.at(worst, known.nodes[inputs], score[inputs])
    for node in matching.problem.in_order:
        # Gradients alone have what they are computed from in the backward entry of their module.
        module = (node.backward or node.parent) if node.holds_gradients else None
        if module is not None:
            worst[node.exec_order] = max(worst[node.exec_order], worst[module.exec_order])
    return np.asarray(worst[known.nodes])
