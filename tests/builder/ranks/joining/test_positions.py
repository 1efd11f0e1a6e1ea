"""Positions that lie in another order over context-parallel ranks than the run says."""

from __future__ import annotations

import numpy as np
import pytest

from builder.ranks.joining.layouts import AxisLayout, Candidate
from builder.ranks.joining.positions import misplaced
from builder.ranks.joining.roles import Reading


def _reading(size: int, extent: int) -> Reading:
    axes = (AxisLayout("cp", size, "S", 1), AxisLayout("dp", 2, "S", 0))
    return Reading(Candidate(axes, (4, extent), 0.0), Candidate((), (4, extent), 0.0))


def _parts(size: int, extent: int, order: str) -> list[np.ndarray]:
    chunks = np.array_split(np.arange(extent), 2 * size)
    pairs = {"zigzag": lambda r: (r, -1 - r), "contiguous": lambda r: (2 * r, 2 * r + 1)}[order]
    return [np.concatenate([chunks[at] for at in pairs(rank)]) for rank in range(size)] * 2


def _table(parts: list[np.ndarray]) -> np.ndarray:
    cells = [[part.max() for part in parts], [part.min() for part in parts]]
    return np.array([*cells, [np.nan] * len(parts), [np.nan] * len(parts)])


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("said", ["contiguous", "zigzag"])
def test_positions_in_the_other_order_are_found(size: int, said: str) -> None:
    reading, other = _reading(size, 12), {"zigzag": "contiguous", "contiguous": "zigzag"}[said]
    assert misplaced(reading, _table(_parts(size, 12, said)), said) == ()
    assert misplaced(reading, _table(_parts(size, 12, other)), said) == tuple(range(size))
    assert misplaced(reading, _table(_parts(size, 12, other)), None) == ()


def test_other_integers_are_no_positions() -> None:
    tokens = [np.array([0, 11]), np.array([3, 9])] * 2
    assert misplaced(_reading(2, 12), _table(tokens), "contiguous") == ()
