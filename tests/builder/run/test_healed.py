"""Findings heal from the last step on that leaves something, and stand behind all others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builder.reasons import Rewritten
from builder.run.healed import with_healed
from builder.work.outcome import PairOutcome
from tests.builder.run.test_order import FIRST


@pytest.mark.parametrize(
    ("healing", "healed"),
    [
        ([True, True, True], [0, 1, 2]),
        ([True, False, True], [2]),
        ([True, True, False], []),
        ([False, True, None], [1]),
    ],
)
def test_what_any_later_step_shows_heals_nowhere(
    healing: list[bool | None], healed: list[int]
) -> None:
    outcomes = [
        PairOutcome(step, 0, findings=() if heals is None else (FIRST,), heals=bool(heals))
        for step, heals in enumerate(healing)
    ]
    found = [replace(FIRST, step=step) for step, heals in enumerate(healing) if heals is not None]
    listed = with_healed(found, outcomes)
    assert [f.step for f in listed if f.reasons] == healed
    assert [f.step for f in listed[len(listed) - len(healed) :]] == healed


def test_nothing_heals_before_a_step_that_failed_or_beside_another_rank() -> None:
    heals = PairOutcome(0, 0, findings=(FIRST,), heals=True)
    others = (
        PairOutcome(1, 0, error="was cut short"),
        PairOutcome(0, 1, findings=(FIRST,)),
    )
    for other in others:
        assert with_healed([FIRST], [heals, other]) == [FIRST]


def test_messages_and_weights_between_pairs_never_heal() -> None:
    heals = PairOutcome(0, 0, findings=(FIRST,), heals=True)
    message = replace(FIRST, kind="communication")
    weight = replace(FIRST, reasons=[Rewritten(0)])
    for between in (message, weight):
        assert with_healed([FIRST, between], [heals]) == [FIRST, between]
