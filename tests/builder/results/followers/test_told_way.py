"""A way on which nothing differs says so, and does not end in what nobody recorded."""

from __future__ import annotations

from typing import Literal

import pytest

from builder.results.followers.told_way import nothing_differs
from builder.results.trace import Hop


def hop(score: float | None, link: Literal["start", "inside"] = "start") -> Hop:
    name = "Functional.scaled_dot_product_attention.0.forward"
    return Hop(1, name, "problem", 3, score, None, link, matched=False)


@pytest.mark.parametrize(
    ("scores", "agrees"),
    [
        ([0.0], True),
        ([0.004, 0.0], True),
        ([0.0, 0.02], False),
        ([None], False),
        ([0.0, None], False),
    ],
)
def test_what_calls_without_partners_hand_on_tells(
    scores: list[float | None], agrees: bool
) -> None:
    assert nothing_differs([hop(score) for score in scores]) is agrees
