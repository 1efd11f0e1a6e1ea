"""What lies beside other elements in a value, and what is added up in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from builder.compare.statistics import Statistics
from builder.diagnosis.excess import Expected
from builder.diagnosis.moved_values import stand_beside


def _statistics(norms: list[float], sizes: list[float]) -> Any:
    """Values without a sum and with one peak."""
    peaks = np.ones(len(norms))
    table = np.array([peaks, -peaks, 0.0 * peaks, norms])
    return cast(Statistics, SimpleNamespace(table=table, size=np.array(sizes)))


@pytest.mark.parametrize(("size", "is_beside"), [(4.0, True), (8.0, False)])
def test_parts_with_more_elements_than_a_value_do_not_stand_beside_each_other(
    size: float, is_beside: bool
) -> None:
    """A rotation adds halves up and keeps their norm, which a coarse format rounds."""
    sizes = [8.0, size, size]
    sides = _statistics([5.0001, 3.0, 4.0], sizes), _statistics([5.0, 3.0, 4.0], sizes)
    known = SimpleNamespace(
        comparison=SimpleNamespace(statistics=sides),
        size=sizes,
        distance=[1e-4, 0.0, 0.0],
        noise=[1e-4, 0.0, 0.0],
        reach=lambda row: 0.0,
    )
    excess = stand_beside(cast(Expected, known), 0, [1, 2])
    assert (excess is not None) is is_beside
    assert excess is None or excess.times > 5  # moving rounds nothing
