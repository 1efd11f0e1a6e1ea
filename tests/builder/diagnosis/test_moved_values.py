"""What lies beside other elements in a value, and what is added up in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from builder.compare.statistics import Statistics
from builder.diagnosis.excess import Excess
from builder.diagnosis.policies.by_excess.moved_values import stand_beside
from builder.evidence.distances import Evidence


def _statistics(norms: list[float], sizes: list[float]) -> Any:
    """Values without a sum and with one peak."""
    peaks = np.ones(len(norms))
    table = np.array([peaks, -peaks, 0.0 * peaks, norms])
    return cast(Statistics, SimpleNamespace(table=table, size=np.array(sizes)))


def _beside(norm: float, sizes: list[float], distance: float) -> Excess | None:
    """What is said of a value of norm 5 in the benchmark, and of parts of 3 and 4 in both runs."""
    sides = _statistics([norm, 3.0, 4.0], sizes), _statistics([5.0, 3.0, 4.0], sizes)
    known = SimpleNamespace(
        paired=SimpleNamespace(comparison=SimpleNamespace(statistics=sides)),
        size=sizes,
        distance=[distance, 0.0, 0.0],
        noise=[1e-4, 0.0, 0.0],
        reach=lambda row: 0.0,
    )
    return stand_beside(cast(Evidence, known), 0, [1, 2])


@pytest.mark.parametrize(("size", "is_beside"), [(4.0, True), (8.0, False)])
def test_parts_with_more_elements_than_a_value_do_not_stand_beside_each_other(
    size: float, is_beside: bool
) -> None:
    """A rotation adds halves up and keeps their norm, which a coarse format rounds."""
    excess = _beside(5.0001, [8.0, size, size], distance=1e-3)
    assert (excess is not None) is is_beside


@pytest.mark.parametrize(
    ("norm", "distance", "is_lost"),
    [
        (5.0002, 2e-4, False),  # agrees to two roundings
        (5.01, 0.02, True),
        (5.01, 0.004, False),  # nearer to the benchmark's than to its parts: it has others
    ],
)
def test_a_value_that_agrees_has_lost_nothing_of_parts_that_are_others(
    norm: float, distance: float, is_lost: bool
) -> None:
    """Moving rounds nothing, but what is near the benchmark's has lost none of its elements."""
    excess = _beside(norm, [8.0, 4.0, 4.0], distance)
    assert excess is not None
    assert (excess.times > 500) is is_lost
