"""What a diagnosis says of each cause of a step and rank that decides which rows go back to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from builder.reasons import AttributeDiffers
from builder.results.followers.rows import MergedRows
from builder.results.followers.states import RowStates
from builder.results.node_words import NOTHING, Ints
from builder.results.reading import Results
from builder.results.records import Finding


@dataclass(frozen=True, slots=True)
class NamedCause:
    """The places of a cause in a step and rank, by their nodes.

    One `of_gradients` changes what wants a gradient, and so no value of the forward pass; one
    `of_weights` is a module that holds a parameter that differs.
    """

    nodes: tuple[int, ...]
    of_gradients: bool = False
    of_weights: bool = False


@dataclass(frozen=True, slots=True)
class CauseRows:
    """The rows at which one cause is, sorted; what it changes."""

    rows: Ints
    of_gradients: bool = False
    of_weights: bool = False


def cause_rows(rows: MergedRows, states: RowStates, cause: NamedCause) -> CauseRows:
    """The rows of a cause, of those that are causes."""
    found = np.unique(rows.rows_of(np.array(cause.nodes, dtype=np.int64)))
    found = found[found != NOTHING]
    return CauseRows(found[states.cause[found]], cause.of_gradients, cause.of_weights)


def named_causes(results: Results, step: int, rank: int) -> tuple[NamedCause, ...]:
    """The causes that have places in a step and rank, best suspect first."""
    found = []
    for one in results.findings().findings:
        nodes = tuple(nodes_of(one, step, rank))
        if nodes:
            of_weights = one.kind == "parameter_differs"
            found.append(NamedCause(nodes, is_of_gradients(one), of_weights))
    return tuple(found)


def is_of_gradients(finding: Finding) -> bool:
    """Whether a cause is that one run alone wants a gradient: no forward value shows that."""
    first = finding.reasons[0] if finding.reasons else None
    return isinstance(first, AttributeDiffers) and first.attribute == "requires_grad"


def nodes_of(finding: Finding, step: int, rank: int) -> Iterator[int]:
    """Where a finding and its repeats are in a step and rank."""
    if (finding.step, finding.rank) == (step, rank):
        yield finding.node.id
    yield from (one.node for one in finding.places if (one.step, one.rank) == (step, rank))
