"""Distances against float64 computed whole."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from msprobe.checkpoints import tensor_distance
from msprobe.checkpoints.tensor_distance import distance

NAN, INF = float("nan"), float("inf")


@given(st.integers(1, 40), st.integers(1, 9), st.sampled_from([1e-30, 1.0, 1e30]))
def test_blocks_give_what_the_whole_gives(size: int, block: int, scale: float) -> None:
    generator = torch.Generator().manual_seed(size)
    a = torch.randn(size, generator=generator, dtype=torch.float64) * scale
    b = torch.randn(size, generator=generator, dtype=torch.float64) * scale
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensor_distance, "BLOCK", block)
        found = distance(a, b)
    assert found.l2 == pytest.approx(float((a - b).norm()), rel=1e-9)
    assert found.relative == pytest.approx(float((a - b).norm() / b.norm()), rel=1e-9)
    assert found.max_abs == float((a - b).abs().max())
    assert found.cosine == pytest.approx(float(a @ b / (a.norm() * b.norm())), abs=1e-9)
    assert found.cosine is not None
    assert -1 <= found.cosine <= 1


def test_same_non_finite_values_are_equal_and_counted() -> None:
    a = torch.tensor([1.0, NAN, INF, -INF])
    found = distance(a, a.clone())
    assert (found.agreement, found.l2, found.cosine, found.non_finite) == ("equal", 0.0, 1.0, 3)


@pytest.mark.parametrize("bad", [NAN, INF])
def test_non_finite_on_one_side_is_no_number(bad: float) -> None:
    found = distance(torch.tensor([1.0, bad]), torch.tensor([1.0, 2.0]))
    assert found.agreement == "differs"
    assert found.l2 is None
    assert found.relative is None
    assert found.cosine is None


def test_zero_against_something_has_no_direction() -> None:
    found = distance(torch.ones(3), torch.zeros(3))
    assert (found.relative, found.cosine, found.agreement) == (None, 0.0, "differs")


def test_integers_and_booleans_are_compared_too() -> None:
    assert distance(torch.tensor([1, 2]), torch.tensor([1, 2])).agreement == "equal"
    assert distance(torch.tensor([True]), torch.tensor([False])).max_abs == 1
