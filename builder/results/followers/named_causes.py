"""What a diagnosis says of each cause of a step and rank that decides which rows go back to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from builder.operators.table import has
from builder.reasons import AttributeDiffers, ExtraCalls, MissingCalls, do_heal
from builder.results.followers.rows import MergedRows
from builder.results.followers.states import RowStates
from builder.results.node_words import NOTHING, Ints
from builder.results.records import Finding
from msprobe_core.format.names import NameSyntaxError, parse_entry


@dataclass(frozen=True, slots=True)
class NamedCause:
    """The places of a cause in a step and rank, by their nodes.

    One `of_gradients` changes what wants a gradient, and so no value of the forward pass; one
    `of_weights` is a module that holds a parameter that differs. What `heals` is another way to
    the same result, and no beginning.
    """

    nodes: tuple[int, ...]
    of_gradients: bool = False
    of_weights: bool = False
    heals: bool = False


@dataclass(frozen=True, slots=True)
class CauseRows:
    """The rows at which one cause is, sorted; what it changes."""

    rows: Ints
    of_gradients: bool = False
    of_weights: bool = False
    heals: bool = False


def cause_rows(rows: MergedRows, states: RowStates, cause: NamedCause) -> CauseRows:
    """The rows of a cause, of those that are causes."""
    found = np.unique(rows.rows_of(np.array(cause.nodes, dtype=np.int64)))
    found = found[found != NOTHING]
    own = found[states.cause[found]]
    return CauseRows(own, cause.of_gradients, cause.of_weights, cause.heals)


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """A finding with its nodes in one step and rank."""

    finding: Finding
    nodes: tuple[int, ...]

    def named(self, *, touched: bool = False) -> NamedCause:
        """What of it decides which rows go back to it.

        One that manual pairs `touched` is another than the one that was found to heal.
        """
        of_weights = self.finding.kind == "parameter_differs"
        of_gradients, heals = is_of_gradients(self.finding), does_heal(self.finding) and not touched
        return NamedCause(self.nodes, of_gradients, of_weights, heals)

    def scores(self, step: int, rank: int) -> dict[int, float | None]:
        """Its nodes with the score that is told of them; None where it is told elsewhere."""
        own = (self.finding.step, self.finding.rank) == (step, rank)
        at = self.finding.node.id if own else None
        return {node: self.finding.score if node == at else None for node in self.nodes}


def by_place(findings: Iterable[Finding]) -> dict[tuple[int, int], list[PlacedFinding]]:
    """The findings of each step and rank where one has places, best suspect first."""
    found: dict[tuple[int, int], list[PlacedFinding]] = defaultdict(list)
    for one in findings:
        nodes: dict[tuple[int, int], list[int]] = {(one.step, one.rank): [one.node.id]}
        for place in one.places:
            nodes.setdefault((place.step, place.rank), []).append(place.node)
        for at, those in nodes.items():
            found[at].append(PlacedFinding(one, tuple(those)))
    return found


def is_of_gradients(finding: Finding) -> bool:
    """Whether a cause is that one run alone wants a gradient, or cuts one off.

    No forward value shows that.
    """
    match finding.reasons[0] if finding.reasons else None:
        case AttributeDiffers(attribute=attribute):
            return attribute == "requires_grad"
        case ExtraCalls(names=names) | MissingCalls(names=names):
            return all(_cuts_gradients(name) for name in names.split(", "))
    return False


def _cuts_gradients(name: str) -> bool:
    try:
        return has(parse_entry(name).type_name, "cuts")
    except NameSyntaxError:  # a name of the builder's own
        return False


def does_heal(finding: Finding) -> bool:
    """Whether all that comes of a finding agrees in the end, as the diagnosis says."""
    return do_heal(finding.reasons)


def nodes_of(finding: Finding, step: int, rank: int) -> Iterator[int]:
    """Where a finding and its repeats are in a step and rank."""
    if (finding.step, finding.rank) == (step, rank):
        yield finding.node.id
    yield from (one.node for one in finding.places if (one.step, one.rank) == (step, rank))
