"""A share of `make all-clears`: no change of a recorded number ends in an all-clear.

The numbers are others than that target's first ones, so that both look at changes of their own.
"""

from __future__ import annotations

import pytest

from evaluation.all_clears.trials import TRIALS, Tally, Trial

_CHANGES, _FIRST, _SEED = 60, 10_000, 7


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)
def test_no_change_is_called_nothing(trial: Trial) -> None:
    tally, count = Tally(), len(trial.share(_CHANGES))
    tally.add(trial, range(_FIRST, _FIRST + count), _SEED)
    assert not tally.wrong
    assert tally.changes >= count
    assert any(outcome != "refused" for _, outcome in tally.outcomes)
