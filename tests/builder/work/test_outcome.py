"""What is said once of a whole comparison."""

from __future__ import annotations

from builder.reasons import TwoImplementations
from builder.work.outcome import PairOutcome, notes_on


def test_of_two_programs_the_step_is_told_that_shows_most_weights() -> None:
    """Behind a fault weights drift apart; another stage of a pipeline has others of its own."""
    steps = [
        PairOutcome(step, rank, unlike_programs=TwoImplementations(found, weights, 0, 9))
        for step, rank, found, weights in ((0, 0, 30, 34), (1, 0, 1, 34), (0, 1, 12, 12))
    ]
    assert notes_on(steps) == [TwoImplementations(30, 34, 0, 9), TwoImplementations(12, 12, 0, 9)]
