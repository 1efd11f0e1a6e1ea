"""What stands in the place of a beginning where two runs share too few calls."""

from __future__ import annotations

from builder.results.certainty import refusal
from builder.work.outcome import PairOutcome


def pair(step: int, matched: int) -> PairOutcome:
    return PairOutcome(step, 0, matched=matched, unmatched_problem=90, unmatched_benchmark=95)


def test_counts_the_nodes_of_all_steps_and_says_over_how_many() -> None:
    said = refusal([pair(0, 10), pair(1, 10)], 2)
    assert said is not None
    assert "share 10 % of their calls" in said
    assert "370 nodes of both runs together over 2 steps and ranks have no partner" in said


def test_one_step_needs_no_such_word() -> None:
    assert "185 nodes of both runs together have" in str(refusal([pair(0, 10)], 1))


def test_runs_that_share_most_are_answered() -> None:
    assert refusal([pair(0, 900)], 1) is None
