"""Weights that a person pairs: what numbers cannot find, and what they say of it."""

from __future__ import annotations

import numpy as np
import pytest

from builder.errors import MappingError
from builder.match.implementations.weight_pairs import WeightPair, pair_weights
from builder.match.manual_file import MappedWeights
from tests.builder.match.implementations.test_weight_pairs import drawn, named, side


def paired(told: MappedWeights, **changed: float) -> WeightPair:
    one, other, third = drawn(4, 6), drawn(4, 6), drawn(4)
    ours = side(
        a__fused=np.concatenate([one, other]) * changed.get("fused", 1.0), a__bias=third * 3
    )
    theirs = side(b__one=one, b__other=other, b__bias=third)
    by_hand = [pair for pair in pair_weights(ours, theirs, [told]) if pair.by_hand]
    assert len(by_hand) == 1
    return by_hand[0]


def test_a_sum_of_parts_is_told_by_hand_and_agrees() -> None:
    told = MappedWeights(("a.fused",), ("b.one", "b.other"))
    assert named([paired(told)]) == [("joined", ("a.fused",), ("b.one", "b.other"))]


def test_numbers_of_others_are_said() -> None:
    told = MappedWeights(("a.fused",), ("b.one", "b.other"))
    assert paired(told, fused=1.01).relation == "differs"


@pytest.mark.parametrize(
    ("factor", "relation"), [(3.0, "scaled"), (1.0, "differs"), (-3.0, "differs")]
)
def test_a_multiple_needs_its_factor(factor: float, relation: str) -> None:
    assert paired(MappedWeights(("a.bias",), ("b.bias",), factor)).relation == relation


def test_a_negative_factor_turns_the_extremes() -> None:
    values = drawn(5)
    told = [MappedWeights(("a.w",), ("b.w",), -2.0)]
    (pair,) = pair_weights(side(a__w=values * -2), side(b__w=values), told)
    assert (pair.relation, pair.by_hand) == ("scaled", True)


def test_of_other_sizes_they_are_refused() -> None:
    with pytest.raises(MappingError, match="48 elements beside 24"):
        paired(MappedWeights(("a.fused",), ("b.one",)))


def test_what_is_paired_by_hand_is_not_found_again() -> None:
    value = drawn(5)
    ours, theirs = side(a__w=value, a__v=value), side(b__w=value, b__v=value)
    told = [MappedWeights(("a.w",), ("b.v",))]
    assert [(p.problem[0].path, p.benchmark[0].path) for p in pair_weights(ours, theirs, told)] == [
        ("a.w", "b.v"),
        ("a.v", "b.w"),
    ]


def test_paths_that_a_run_lacks_are_left_to_others() -> None:
    told = [MappedWeights(("a.w",), ("b.nothing",))]
    (pair,) = pair_weights(side(a__w=np.arange(3)), side(b__w=np.arange(3)), told)
    assert not pair.by_hand
