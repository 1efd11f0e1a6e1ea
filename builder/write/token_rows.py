"""Turns how far apart each token is into rows of the database: lines of a few hundred cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.score import score_of
from builder.compare.statistics import Floats
from builder.diagnosis.first_tokens import tokens_apart
from builder.match.sequences.token_alignment import Integers, Tokens
from builder.match.sequences.token_matching import TokenErrors
from builder.write.placement import Placed
from builder.write.tables import NO_SCORE, WORST_SCORE

Row = tuple[object, ...]
MOST_CELLS = 256  # a line is looked at: more cells than this have no width of their own


def token_cell_rows(known: TokenErrors | None, graph: int) -> Iterator[Row]:
    """Rows of the table `token_cell`: by request and position, each over as many tokens."""
    if known is None:
        return
    tokens, order = known.tokens, _by_request(known.tokens)
    for cell, first in enumerate(_firsts(len(order))):
        members = order[first : first + _tokens_of_cell(len(order))]
        sides = tokens.request, tokens.position
        ends = [int(side[at]) for at in members[[0, -1]] for side in sides]
        yield (graph, cell, *ends, len(members))


def token_line_rows(comparison: Comparison, problem: Placed) -> Iterator[Row]:
    """Rows of the table `token_line`, one for each value whose tokens were compared."""
    known = comparison.matching.token_errors
    if known is None:
        return
    tokens, order = known.tokens, _by_request(known.tokens)
    nodes = problem.tree.in_order
    for row, index in enumerate(comparison.pairs.problem.tolist()):
        errors = known.errors.get(index)
        if errors is None:
            continue
        tolerance = np.full(len(errors), comparison.scores.limit[row])
        apart = tokens_apart(comparison, row)
        first: tuple[int | None, int | None] = (None, None)
        if len(apart):
            first = int(tokens.request[apart[0]]), int(tokens.position[apart[0]])
        yield (
            problem.value_base + index,
            problem.id_of(nodes[comparison.pairs.node[row]]),
            problem.graph,
            cells_of(score_of(errors, tolerance)[order]),
            *first,
            len(apart),
            int((~np.isnan(errors)).sum()),
        )


def cells_of(scores: Floats) -> bytes:
    """The worst score of each cell, a byte each; what has a score at all is above 0."""
    if not len(scores):
        return b""
    worst = np.fmax.reduceat(scores, list(_firsts(len(scores))))
    levels = np.where(np.isnan(worst), NO_SCORE, np.ceil(np.nan_to_num(worst) * WORST_SCORE))
    return levels.astype(np.uint8).tobytes()


def _by_request(tokens: Tokens) -> Integers:
    return np.lexsort((tokens.position, tokens.request))


def _tokens_of_cell(count: int) -> int:
    return max(1, -(-count // MOST_CELLS))


def _firsts(count: int) -> range:
    return range(0, count, _tokens_of_cell(count))
