"""The parts at one place of an axis: one of the replicas, whatever else the value is cut by."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from builder.merge.layouts import AxisLayout
from builder.merge.replicas import parts_at, sketches_at

_INSTANCES = 2
_STATISTICS = 4
_SKETCH = 8


@st.composite
def _places(draw: st.DrawFn) -> tuple[list[AxisLayout], int, int]:
    """Axes, innermost first, with one of them and a place on it."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    axes = [AxisLayout(name, size, "R") for name, size in zip(("tp", "cp", "dp"), sizes)]
    axis = draw(st.integers(0, len(axes) - 1))
    return axes, axis, draw(st.integers(0, sizes[axis] - 1))


def _part_numbers(axes: list[AxisLayout], axis: int, place: int) -> list[int]:
    """The numbers of the parts at a place, counted with the first axis the fastest."""
    stride = int(np.prod([one.size for one in axes[:axis]], dtype=int))
    count = int(np.prod([one.size for one in axes], dtype=int))
    return [part for part in range(count) if part // stride % axes[axis].size == place]


@given(_places())
def test_parts_at_a_place_are_all_that_have_this_coordinate(
    given_place: tuple[list[AxisLayout], int, int],
) -> None:
    axes, axis, place = given_place
    count = int(np.prod([one.size for one in axes], dtype=int))
    shape = (_STATISTICS, _INSTANCES, count)
    table = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    expected = table[:, :, _part_numbers(axes, axis, place)]
    np.testing.assert_array_equal(parts_at(table, axes, axis, place), expected)


@given(_places())
def test_sketches_at_a_place_leave_the_other_axes(
    given_place: tuple[list[AxisLayout], int, int],
) -> None:
    axes, axis, place = given_place
    count = int(np.prod([one.size for one in axes], dtype=int))
    shape = (1, count, _SKETCH)
    table = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    picked, left = sketches_at(table, axes, axis, place)
    np.testing.assert_array_equal(picked, table[:, _part_numbers(axes, axis, place)])
    assert [one.axis for one in left] == [one.axis for one in axes if one is not axes[axis]]
