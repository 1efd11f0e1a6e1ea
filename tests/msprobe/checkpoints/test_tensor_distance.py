"""Distances against float64 computed whole."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from msprobe.checkpoints import tensor_distance
from msprobe.checkpoints.tensor_distance import distance, moments

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


UNEQUAL = {
    "imaginary part of complex64": ([1 + 1j, 2], [1 - 1j, 2], torch.complex64, torch.complex64),
    "imaginary part of complex128": ([2j], [2.5j], torch.complex128, torch.complex128),
    "int64 of 2**53": ([2**53 + 1], [2**53], torch.int64, torch.int64),
    "int64 of 2**62": ([-(2**62) - 1], [-(2**62)], torch.int64, torch.int64),
    "uint64 above int64": ([2**63], [2**63 + 1], torch.uint64, torch.uint64),
    "int64 and uint64": ([2**60 + 1], [2**60], torch.int64, torch.uint64),
    "float32 and float16 without end": ([7e4, 1.0], [INF, 1.0], torch.float32, torch.float16),
    "float32 and bfloat16 without end": ([3.4e38], [INF], torch.float32, torch.bfloat16),
    "float64 and float32 without end": ([1e39], [INF], torch.float64, torch.float32),
    "float16 and what falls to zero": ([1e-9, 1.0], [0.0, 1.0], torch.float32, torch.float16),
    "float64 whose squares are nothing": ([1e-170], [3e-170], torch.float64, torch.float64),
    "float64 whose squares have no end": ([1e200], [2e200], torch.float64, torch.float64),
    "float8": ([1.0, 2.0], [1.0, 4.0], torch.float8_e4m3fn, torch.float8_e4m3fn),
    "float8 of another kind": ([0.5], [1.0], torch.float8_e5m2, torch.float8_e5m2),
}


@pytest.mark.parametrize("name", UNEQUAL)
def test_what_no_rounding_makes_differs_in_either_direction(name: str) -> None:
    ours, theirs, dtype, other = UNEQUAL[name]
    sides = _tensor(ours, dtype), _tensor(theirs, other)
    if name == "float16 and what falls to zero":
        # Its format has no smaller number: that is rounding, and not equal.
        assert distance(*sides).agreement in ("rounding", "differs")
        return
    for one, two in (sides, sides[::-1]):
        found = distance(one, two)
        assert found.agreement == "differs"
        assert found.max_abs is None or found.max_abs > 0


def _tensor(values: list[complex], dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point and dtype.itemsize == 1:
        return torch.tensor(values).to(dtype)
    return torch.tensor(values, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("values", [[3 + 4j], [0j, -2j], [1 + 1j, 1 - 1j, 5]])
def test_moments_of_complex_numbers_see_both_parts(
    dtype: torch.dtype, values: list[complex]
) -> None:
    parts = [part for each in values for part in (complex(each).real, complex(each).imag)]
    found = moments(torch.tensor(values, dtype=dtype))
    assert found.norm == pytest.approx(sum(part**2 for part in parts) ** 0.5)
    assert found.mean == pytest.approx(sum(parts) / len(parts))
