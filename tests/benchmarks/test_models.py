"""Models that need torch alone, recorded at every level and checked; `make models` has the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.models.__main__ import LEVELS, told
from benchmarks.models.architectures import Architecture, architectures
from benchmarks.models.check import Outcome, check

PLAIN = [each for each in architectures() if not each.needs_transformers]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("architecture", PLAIN, ids=lambda each: each.name)
def test_the_step_is_the_same_and_what_is_recorded_is_true(
    architecture: Architecture, level: str, tmp_path: Path
) -> None:
    outcome = check(architecture, *LEVELS[level], tmp_path)
    assert outcome.same_step and outcome.wrong == [] and not outcome.errors
    assert outcome.values or level == "L1"


def test_what_is_wrong_is_told() -> None:
    assert told(Outcome(values=1200)) == "same step, 1,200 values"
    assert "STEP DIFFERS" in told(Outcome(same_step=False))
    assert "1 WRONG" in told(Outcome(wrong=["x"]))
