"""Drawn tensors have the statistics that were recorded."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from msprobe.acc_check.draw import draw
from msprobe.acc_check.values import TensorSpec


def spec_of(tensor: torch.Tensor, dtype: torch.dtype = torch.float32) -> TensorSpec:
    wide = tensor.double()
    return TensorSpec(
        dtype,
        tuple(tensor.shape),
        float(wide.max()),
        float(wide.min()),
        float(wide.mean()),
        float(wide.norm()),
    )


def normal(count: int, seed: int) -> torch.Tensor:
    return torch.randn(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


SHAPES = {
    "normal": normal(4096, 1),
    "uniform": torch.rand(4096, generator=torch.Generator().manual_seed(2)),
    "softmax": torch.softmax(normal(4096, 3).reshape(64, 64), -1),
    "mask": (normal(4096, 4) > 1).double(),
    "weights around 1": 1 + 0.01 * normal(512, 5),
    "one far out": torch.cat([normal(4095, 6) * 1e-3, torch.tensor([40.0])]),
    "all positive and small": normal(4096, 7).square() * 1e-12,
    "constant": torch.full((64,), 0.25),
    "three elements": torch.tensor([-1.0, 0.5, 2.0]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_all_statistics_hold(name: str) -> None:
    recorded = SHAPES[name]
    wanted = spec_of(recorded, torch.float64)
    made = spec_of(draw(wanted, 11), torch.float64)
    size = max(abs(wanted.maximum or 0), abs(wanted.minimum or 0))
    assert made.maximum == wanted.maximum
    assert made.minimum == wanted.minimum
    assert made.mean == pytest.approx(wanted.mean, abs=2e-2 * size)
    assert made.norm == pytest.approx(wanted.norm, rel=2e-2)


def test_mask_stays_a_mask_and_probabilities_stay_such() -> None:
    mask = draw(spec_of(SHAPES["mask"]), 3)
    assert set(mask.unique().tolist()) == {0.0, 1.0}
    shares = draw(spec_of(SHAPES["softmax"]), 3)
    assert bool(((shares >= 0) & (shares <= 1)).all())


def test_equal_seeds_give_equal_tensors_and_others_do_not() -> None:
    spec = spec_of(SHAPES["normal"])
    assert torch.equal(draw(spec, 5), draw(spec, 5))
    assert not torch.equal(draw(spec, 5), draw(spec, 6))


def test_infinities_are_planted_but_no_row_is_lost() -> None:
    spec = TensorSpec(torch.float32, (8, 8), 1.0, -math.inf, -math.inf, math.inf)
    made = draw(spec, 1)
    assert bool(torch.isneginf(made).any())
    assert bool(torch.isfinite(made).any(-1).all())


def test_label_that_losses_ignore_is_the_only_negative_one() -> None:
    made = draw(TensorSpec(torch.int64, (64,), 9, -100), 1)
    assert int(made.min()) == -100
    assert int(made.max()) == 9
    assert not bool(((made < 0) & (made != -100)).any())


@given(
    low=st.integers(-(2**40), 2**40),
    span=st.integers(0, 2**40),
    count=st.integers(2, 50),
    seed=st.integers(0, 2**32),
)
def test_integers_stay_in_their_range_and_reach_its_ends(
    low: int, span: int, count: int, seed: int
) -> None:
    made = draw(TensorSpec(torch.int64, (count,), low + span, low), seed)
    assert int(made.min()) == low or low == -100
    assert int(made.max()) == low + span


@given(
    values=st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=40),
    seed=st.integers(0, 2**32),
)
def test_any_recorded_tensor_gives_one_in_its_range(values: list[float], seed: int) -> None:
    recorded = torch.tensor(values)
    made = draw(spec_of(recorded), seed)
    assert made.shape == recorded.shape
    assert bool(((made >= recorded.min()) & (made <= recorded.max())).all())


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float64, torch.float8_e4m3fn, torch.complex64]
)
def test_every_format_is_drawn(dtype: torch.dtype) -> None:
    made = draw(TensorSpec(dtype, (4, 4), 1.0, -1.0, 0.0, 2.0), 1)
    assert made.dtype == dtype
    assert made.shape == (4, 4)


def test_tensor_without_elements_or_dimensions() -> None:
    assert draw(TensorSpec(torch.float32, (0, 3)), 1).shape == (0, 3)
    assert float(draw(TensorSpec(torch.float32, (), 2.0, 2.0, 2.0, 2.0), 1)) == 2.0
