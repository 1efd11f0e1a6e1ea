"""A finding stands behind another where that runs before it, or where nobody can tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builder.diagnosis.causes import Place
from builder.run.build import _are_behind
from tests.builder.run.test_order import FIRST

AT = replace(FIRST, step=1, rank=0, node=50)


@pytest.mark.parametrize(
    ("change", "behind"),
    [
        ({"node": 51}, True),
        ({"node": 49}, False),  # it runs before, though it is listed behind
        ({"node": 51, "places": (Place(0, 0, 90, "a"),)}, False),  # one of its places does
        ({"node": 51, "places": (Place(0, 1, 90, "a"),)}, True),  # on another rank nobody can tell
        ({"node": 49, "rank": 1}, True),
        ({"node": 49, "of_benchmark": True}, True),
    ],
)
def test_the_second_of_two(change: dict[str, object], behind: bool) -> None:
    assert list(_are_behind([AT, replace(AT, **change)])) == [False, behind]  # type: ignore[arg-type]  # by name


def test_all_that_are_listed_before_count() -> None:
    nodes = (50, 40, 45, 30)
    assert list(_are_behind([replace(AT, node=node) for node in nodes])) == [
        False,
        False,
        True,
        False,
    ]
