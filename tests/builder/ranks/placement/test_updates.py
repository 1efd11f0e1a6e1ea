"""Lost updates and factors of clipping, from what optimizers recorded."""

from __future__ import annotations

import pytest

from builder.dump.values import Record
from builder.ranks.placement.updates import LostUpdate, are_unlike_factors, lost_updates

Roles = dict[str, dict[str, Record]]


def _weight(value: float) -> Record:
    return Record(dtype="torch.float32", shape=(4,), Max=value, Min=-1.0, Mean=value / 4, Norm=2.0)


def _step(before: float, after: float) -> Roles:
    return {"parameters": {"weight": _weight(before)}, "output": {"weight": _weight(after)}}


def test_a_weight_that_is_as_before_on_one_rank_has_lost_its_update() -> None:
    first = {0: _step(1.0, 2.0), 1: _step(1.5, 2.5)}
    second = {0: _step(2.0, 3.0), 1: _step(1.5, 2.6)}
    assert lost_updates(first, second) == [LostUpdate("weight", (1,))]


@pytest.mark.parametrize(
    "second",
    [
        {0: _step(2.0, 3.0), 1: _step(2.5, 3.5)},  # all were kept
        {0: _step(1.0, 2.0), 1: _step(1.5, 2.5)},  # all ranks took the step back
        {0: _step(2.0, 3.0), 1: _step(2.2, 3.5)},  # something else was written since
    ],
)
def test_updates_that_are_kept_or_taken_back_by_all_are_left_alone(
    second: dict[int, Roles],
) -> None:
    assert lost_updates({0: _step(1.0, 2.0), 1: _step(1.5, 2.5)}, second) == []


def test_an_update_that_changed_nothing_is_not_lost() -> None:
    first = {0: _step(1.0, 2.0), 1: _step(1.5, 1.5)}
    assert lost_updates(first, {0: _step(2.0, 3.0), 1: _step(1.5, 1.5)}) == []


def test_factors_are_one_within_the_rounding_of_a_norm() -> None:
    assert are_unlike_factors({0: 0.04, 1: 0.041})
    assert not are_unlike_factors({0: 0.04, 1: 0.0400000004})
    assert not are_unlike_factors({})
