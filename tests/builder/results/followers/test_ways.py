"""Of several ways back the one is told that leaves each call by what is off most."""

from __future__ import annotations

import numpy as np
import pytest

from builder.results.followers.carry_edges import CAUSE, FORWARD, INPUT, Edges
from builder.results.followers.ways import Terrain, incoming, steps_back

END, LEFT, RIGHT, BEFORE, CAUSED = range(5)


def way(links: list[tuple[int, int, int]], left: float, right: float) -> list[int]:
    """The rows on the way from the end to the cause, by links of start, end and kind."""
    start, end, kind = (np.array(side, dtype=np.int64) for side in zip(*links, strict=True))
    score = np.array([0.9, left, right, 0.9, 0.9])
    land = Terrain(
        incoming(Edges(start, end, kind, np.ones(len(start), dtype=bool)), 5),
        score,
        np.arange(5)[::-1],
    )
    return [step.row for step in steps_back(land, END, np.ones(5, dtype=bool), [CAUSED])]


BOTH = [(LEFT, END, INPUT), (RIGHT, END, INPUT)]


@pytest.mark.parametrize(
    ("left", "right", "first"),
    [(0.6, 0.9, RIGHT), (0.9, 0.6, LEFT), (0.7, 0.8, RIGHT), (np.nan, 0.9, LEFT)],
)
def test_a_way_leaves_by_the_worst_input_though_another_is_shorter(
    left: float, right: float, first: int
) -> None:
    # Both lead to the cause, the right one over a call more; one without a score may be the worst.
    links = [*BOTH, (CAUSED, LEFT, INPUT), (BEFORE, RIGHT, INPUT), (CAUSED, BEFORE, INPUT)]
    assert way(links, left, right)[0] == first


@pytest.mark.parametrize(("left", "told"), [(0.6, [RIGHT, CAUSED]), (0.8, [LEFT, CAUSED])])
def test_the_diagnosis_is_believed_rather_than_an_input_that_is_off_far_less(
    left: float, told: list[int]
) -> None:
    assert way([*BOTH, (CAUSED, LEFT, INPUT), (CAUSED, RIGHT, CAUSE)], left, 0.9) == told


@pytest.mark.parametrize("kind", [INPUT, FORWARD])
def test_a_way_is_told_as_far_as_one_leads_before_it_jumps(kind: int) -> None:
    links = [(CAUSED, END, CAUSE), (LEFT, END, kind), (CAUSED, LEFT, CAUSE)]
    assert way(links, 0.9, 0.9) == [LEFT, CAUSED]
