"""Calls of one statement of which one perhaps goes back to a cause do so all."""

from __future__ import annotations

import numpy as np
import pytest

from builder.results.flow_cells import FlowIds, PassageIds
from builder.results.followers.rows import merge
from builder.results.followers.spread import shares_of
from builder.results.followers.states import states_of
from builder.results.followers.step import StepFollowers, StepReader
from builder.results.node_words import NOTHING
from tests.builder.results.followers.sides import Entry, both

CAUSE, SILENT, TOLD, ALIKE = 2, 3, 4, 5  # ids, as rows and one more


def index(reads: float, stacks: dict[int, int], fed: bool) -> StepFollowers:
    """A cause, a call without values, and two calls of which a guess leads to the first alone."""
    entries = [
        Entry("root", match=0),
        Entry("Tensor.__mul__.0.forward", 0, 1, 0.9, "api"),
        Entry("Tensor.split.0.forward", 0, 2, None, "api"),
        Entry("Tensor.add_.0.forward", 0, 3, 0.9, "api", reads=0.9),
        Entry("Tensor.add_.1.forward", 0, 4, 0.9, "api", reads=reads),
        Entry("Tensor.sin.0.forward", 0, 5, 0.9, "api"),
    ]
    rows = merge(*both(entries, [entry._replace(match=None) for entry in entries]))
    states = states_of(rows, [CAUSE], 0.25)
    none = np.empty(0, dtype=np.int64)
    start, end = np.array([CAUSE, SILENT]), np.array([SILENT, TOLD])
    nothing = np.full(2, NOTHING, dtype=np.int64)
    passages: list[PassageIds] = [(start, end, np.zeros(2, dtype=bool), nothing, nothing)]
    flow: FlowIds = (none, none, none.astype(bool))
    if fed:
        flow = (np.array([6]), np.array([ALIKE]), np.ones(1, dtype=bool))
    read = StepReader(
        flows=lambda: [flow],
        passages=lambda: passages,
        stacks=lambda ids: {id_: stacks[id_] for id_ in ids if id_ in stacks},
    )
    return StepFollowers(rows, states, read)


@pytest.mark.parametrize(
    ("reads", "stacks", "fed", "leads"),
    [
        (0.9, {TOLD: 7, ALIKE: 7}, False, True),
        (0.9, {TOLD: 7, ALIKE: 8}, False, False),  # another line
        (0.9, {}, False, False),
        (0.0, {TOLD: 7, ALIKE: 7}, False, False),  # nothing comes into it
        (0.9, {TOLD: 7, ALIKE: 7}, True, False),  # something else does
    ],
)
def test_a_guess_holds_for_all_calls_of_a_statement_that_read_alike(
    reads: float, stacks: dict[int, int], fed: bool, leads: bool
) -> None:
    found = index(reads, stacks, fed)
    row = found.row_of(ALIKE)
    assert (found.followers.cause[row], found.followers.perhaps[row]) == (
        (found.row_of(CAUSE), True) if leads else (NOTHING, False)
    )
    assert shares_of(found).perhaps == 1 + leads
    if leads:
        told = [step.row for step in found.steps_back(row)]
        assert told == [found.row_of(SILENT), found.row_of(CAUSE)]
