"""In dumps of modules alone what a module reads is perhaps of the last one that differs."""

from __future__ import annotations

import pytest

from builder.results.followers.rows import merge
from builder.results.followers.spread import shares_of
from builder.results.followers.states import states_of
from builder.results.followers.step import StepFollowers
from tests.builder.results.followers.sides import Entry, both

CAUSE = 3


def shares(last_kind: str, first: float = 0.0, second: float = 0.9) -> tuple[int, int, int]:
    """How many nodes go back to the cause, perhaps, and to none.

    A sound module, one in which it begins, and one behind it that reads what no module put out.
    """
    entries = [
        Entry("root", match=0),
        Entry("Module.a.Linear.forward.0", 0, 1, first, "module", reads=first),
        Entry("Module.b.Linear.forward.0", 0, 2, 0.9, "module"),
        Entry("Module.c.Block.forward.0", 0, 3, second, "module", reads=second),
        Entry("Module.c.in.Linear.forward.0", 3, 4, second, last_kind, reads=second),
    ]
    rows = merge(*both(entries, [entry._replace(match=None) for entry in entries]))
    found = shares_of(StepFollowers(rows, states_of(rows, [CAUSE], 0.25)))
    return found.causes[0].count, found.perhaps, found.others


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("module", (1, 2, 0)),
        ("api", (1, 0, 2)),  # calls are recorded: nothing is guessed between modules
    ],
)
def test_what_nothing_recorded_made_is_perhaps_of_the_last_that_differs(
    kind: str, told: tuple[int, int, int]
) -> None:
    assert shares(kind) == told


def test_what_runs_before_a_cause_and_what_agrees_go_back_to_none() -> None:
    assert shares("module", first=0.9) == (1, 2, 1)
    assert shares("module", second=0.0) == (1, 0, 0)
