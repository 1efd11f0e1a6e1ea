"""The statistics of two values, as they stand in dumps."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from builder.compare.statistics import relative_error, statistics_of
from builder.dump.values import Record


def number(value: float, norm: float) -> Record:
    return Record("torch.Tensor", "torch.float32", (), Max=value, Min=value, Mean=value, Norm=norm)


def test_a_norm_has_no_sign() -> None:
    """mindstudio-probe writes -3.0 as the norm of a tensor that is the number -3.0."""
    theirs, ours = statistics_of([number(-3.0, -3.0)]), statistics_of([number(-3.0, 3.0)])
    assert relative_error(theirs, ours).tolist() == relative_error(ours, theirs).tolist() == [0.0]


def test_numbers_of_another_sign_differ() -> None:
    one, other = statistics_of([number(-3.0, -3.0)]), statistics_of([number(3.0, 3.0)])
    assert relative_error(one, other).tolist() == [2.0]


SMALLEST = float(np.finfo(np.float32).min)
# How a mask shows: in Min, Mean and Norm.
MASKED = [(-inf, -inf, inf), (SMALLEST, -1.7e38, inf), (-1e9, -5e8, 1.4e9), (-65504.0, -3e4, 1e5)]


def masked(largest: float, mask: tuple[float, float, float]) -> Record:
    low, mean, norm = mask
    return Record("torch.Tensor", "torch.float32", (4, 4), largest, low, mean, norm)


def error_of(ours: Record, theirs: Record) -> float:
    return float(relative_error(statistics_of([ours]), statistics_of([theirs]))[0])


@pytest.mark.parametrize("theirs", MASKED)
@pytest.mark.parametrize("ours", MASKED[:2])
def test_a_mask_hides_no_other_extreme(
    ours: tuple[float, float, float], theirs: tuple[float, float, float]
) -> None:
    assert error_of(masked(500.0, theirs), masked(5.0, theirs)) == pytest.approx(99.0)
    unlike = error_of(masked(5.0, theirs), masked(500.0, theirs))
    assert unlike == pytest.approx(0.99)
    if theirs[0] != -1e9:  # a mask of somebody's own is compared
        assert error_of(masked(500.0, ours), masked(5.0, theirs)) == pytest.approx(99.0)


def test_infinity_above_hides_nothing_below() -> None:
    above = [Record("t", "torch.float32", (8,), inf, low, inf, inf) for low in (-4.0, -2.0)]
    assert error_of(*above) == pytest.approx(1.0)


@pytest.mark.parametrize("mask", MASKED)
def test_rounding_beside_a_mask_is_rounding(mask: tuple[float, float, float]) -> None:
    near = [5.0 * (1 + 1e-7), -1e-7, 0.0, 3e-8]
    assert all(error_of(masked(one, mask), masked(round(one, 5), mask)) < 2e-7 for one in near)


def test_where_both_ends_are_masks_all_is_the_scale() -> None:
    both = [Record("t", "torch.float32", (8,), inf, -inf, float("nan"), inf)] * 2
    assert error_of(*both) == 0.0
    large = Record("t", "torch.float32", (8,), 3e9, -2.0, 1e9, 5e9)
    other = Record("t", "torch.float32", (8,), 3e9, -3.0, 1e9, 5e9)
    assert error_of(large, other) < 1e-9  # large numbers above zero are data
