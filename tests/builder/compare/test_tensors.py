"""The tensor measures against torch's own results in float64, on real files of torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from builder.compare.tensors import BLOCK, TensorMeasures, compare_tensors
from builder.dump.tensor_data import data_of

FINITE = st.floats(-1e6, 1e6, width=32)
VECTORS = arrays.arrays(np.float32, st.integers(1, 40), elements=FINITE)


def measured(problem: np.ndarray, benchmark: np.ndarray) -> TensorMeasures:
    found = compare_tensors(data_of(problem), data_of(benchmark))
    assert found is not None
    return found


def by_torch(problem: np.ndarray, benchmark: np.ndarray) -> dict[str, float]:
    p, b = (torch.from_numpy(side).to(torch.float64).reshape(-1) for side in (problem, benchmark))
    difference = (p - b).abs()
    relative = torch.where(difference == 0, torch.zeros_like(p), difference / b.abs())
    distance, scale = difference.norm().item(), b.norm().item()
    return {
        "euc_dist": distance,
        "max_abs_err": difference.max().item(),
        "max_rel_err": relative.max().item(),
        "one_thousandth": (relative < 1e-3).double().mean().item(),
        "five_thousandths": (relative < 5e-3).double().mean().item(),
        "relative_error": 0.0 if distance == 0 else distance / scale if scale else math.inf,
    }


@given(VECTORS, VECTORS)
def test_measures_are_those_of_torch(problem: np.ndarray, noise: np.ndarray) -> None:
    benchmark = problem.copy()
    shared = min(len(problem), len(noise))
    benchmark[:shared] += noise[:shared] * np.float32(1e-3)
    found, expected = measured(problem, benchmark), by_torch(problem, benchmark)
    for name, number in expected.items():
        assert getattr(found, name) == pytest.approx(number, rel=1e-9), name


@given(VECTORS)
def test_cosine_is_that_of_torch(problem: np.ndarray) -> None:
    benchmark = problem[::-1].copy()
    p, b = torch.from_numpy(problem).double(), torch.from_numpy(benchmark).double()
    expected = torch.dot(p, b) / (p.norm() * b.norm()) if p.norm() else torch.tensor(1.0)
    assert measured(problem, benchmark).cosine == pytest.approx(expected.item(), abs=1e-12)


def test_sums_stay_exact_over_many_blocks() -> None:
    size = 5 * BLOCK + 17
    benchmark = np.full(size, 1e-25, dtype=np.float32)
    problem = benchmark * np.float32(1.5)
    found = measured(problem, benchmark)
    assert found.cosine == pytest.approx(1.0, abs=1e-12)
    assert found.relative_error == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_the_same_nonfinite_on_both_sides_agrees(odd: float) -> None:
    benchmark = np.array([1.0, odd, 2.0], dtype=np.float32)
    found = measured(benchmark.copy(), benchmark)
    assert (found.relative_error, found.one_thousandth, found.cosine) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("side", [0, 1])
def test_nonfinite_on_one_side_is_a_full_error(side: int) -> None:
    pair = [np.array([1.0, 2.0], dtype=np.float32), np.array([1.0, 2.0], dtype=np.float32)]
    pair[side][1] = math.nan
    found = measured(*pair)
    assert found.relative_error == math.inf
    assert found.one_thousandth == 0.5


def test_zero_is_a_value() -> None:
    zeros, ones = np.zeros(3, dtype=np.float32), np.ones(3, dtype=np.float32)
    assert measured(zeros, zeros).relative_error == 0.0
    assert measured(ones, zeros).relative_error == math.inf


def test_other_lengths_and_empty_tensors_compare_as_nothing() -> None:
    one, two, none = (data_of(np.ones(n, dtype=np.float32)) for n in (1, 2, 0))
    assert compare_tensors(one, two) is None
    assert compare_tensors(none, none) is None


@settings(max_examples=20)
@given(st.integers(1, 3 * BLOCK))
def test_blocks_cover_every_element_once(size: int) -> None:
    benchmark = np.ones(size, dtype=np.float32)
    problem = benchmark.copy()
    problem[-1] = 2.0
    found = measured(problem, benchmark)
    assert found.euc_dist == 1.0
    assert found.one_thousandth == pytest.approx((size - 1) / size)


def test_integers_do_not_wrap() -> None:
    low, high = np.array([-128], dtype=np.int8), np.array([127], dtype=np.int8)
    assert measured(low, high).max_abs_err == 255.0


@pytest.mark.parametrize("unit", [1e200, 1e-200, 1.5e308 / 3, 1e-310])
def test_squares_beyond_the_range_of_float64_change_no_ratio(unit: float) -> None:
    problem, benchmark = np.array([1.0, -2.0, 3.0]), np.array([2.0, -2.0, 1.0])
    plain, found = measured(problem, benchmark), measured(problem * unit, benchmark * unit)
    for name in ("cosine", "max_rel_err", "one_thousandth", "relative_error"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=1e-6), name
    assert found.max_abs_err == pytest.approx(plain.max_abs_err * unit, rel=1e-6)
    assert found.euc_dist == pytest.approx(plain.euc_dist * unit, rel=1e-6)


def test_a_difference_whose_square_is_nothing_is_one() -> None:
    problem, benchmark = np.array([1.0, 1e-200]), np.array([1.0, 3e-200])
    found = measured(problem, benchmark)
    assert 0 < found.relative_error < 1e-190
    assert measured(np.array([1e200, math.inf]), np.array([1e200, 1.0])).relative_error == math.inf
    assert measured(np.array([1.7e308]), np.array([-1.7e308])).relative_error == pytest.approx(2.0)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@pytest.mark.parametrize("base", [2**53, 2**62, 2**63 - 9])
def test_integers_that_float64_cannot_tell_apart(dtype: type, base: int) -> None:
    benchmark = np.full(BLOCK + 3, base, dtype=dtype)
    problem = benchmark.copy()
    assert measured(problem, benchmark).relative_error == 0.0
    problem[-1] += dtype(1)
    found = measured(problem, benchmark)
    assert found.max_abs_err == 1.0
    assert found.relative_error > 0
    ends = np.array([-(2**63)], np.int64), np.array([2**63 - 1], np.int64)
    assert measured(*ends).relative_error == pytest.approx(2.0)
