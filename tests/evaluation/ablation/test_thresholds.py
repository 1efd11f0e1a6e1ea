"""Every number that is varied is there, and is varied wherever the diagnosis asks for it."""

from __future__ import annotations

import pytest

from builder.diagnosis import excess
from builder.diagnosis.policies.by_excess import excess_policy
from evaluation.ablation.thresholds import THRESHOLDS, Threshold


@pytest.mark.parametrize("threshold", THRESHOLDS, ids=lambda each: each.name)
def test_changes_the_number_by_the_factor(threshold: Threshold) -> None:
    changed = threshold.times(2.0)
    assert changed
    assert {value for _, _, value in changed} == {2 * threshold.value}


def test_reaches_all_who_ask_for_it() -> None:
    (plain,) = (each for each in THRESHOLDS if each.name == "PLAIN")
    owners = [owner for owner, _, _ in plain.times(0.5)]
    assert excess_policy in owners
    assert excess in owners
