"""What is said once of a whole comparison."""

from __future__ import annotations

from builder.reasons import Amplifies, Ties, TwoImplementations, UntoldChoices, decode
from builder.reasons.sentences import sentence
from builder.work.outcome import PairOutcome, decided_ties, notes_on


def test_of_two_programs_the_step_is_told_that_shows_most_weights() -> None:
    """Behind a fault weights drift apart; another stage of a pipeline has others of its own."""
    steps = [
        PairOutcome(step, rank, unlike_programs=TwoImplementations(found, weights, 0, 9))
        for step, rank, found, weights in ((0, 0, 30, 34), (1, 0, 1, 34), (0, 1, 12, 12))
    ]
    assert notes_on(steps) == [TwoImplementations(30, 34, 0, 9), TwoImplementations(12, 12, 0, 9)]


def test_what_calls_chose_names_the_step_and_rank_of_the_first() -> None:
    amplified = Amplifies("argmin", 1e-7, 2e-7, 3, 8, count=1)
    outcomes = [
        PairOutcome(0, 0),
        PairOutcome(1, 2, ties=("topk",), amplified=(amplified, amplified)),
        PairOutcome(3, 0, ties=("topk", "max"), untold=("argmax",)),
    ]
    assert decided_ties(outcomes) == [
        Ties("topk", count=3, step=1, rank=2),
        UntoldChoices("argmax", count=1, step=3, rank=0),
        Amplifies("argmin", 1e-7, 2e-7, 3, 8, count=2, step=1, rank=2),
    ]
    assert sentence(decided_ties(outcomes)[0]).startswith("topk in step 1 rank 2 (of 3 such calls)")


def test_files_of_earlier_releases_do_not_tell_where_the_first_is() -> None:
    (earlier,) = decode('[{"code": "ties", "name": "topk", "count": 3}]')
    assert earlier == Ties("topk", count=3)
    assert sentence(earlier).startswith("topk (of 3 such calls)")
    assert sentence(earlier, "zh").startswith("topk（共 3 个")
