"""The tolerances of merged values, against sums and networks simulated beside float64."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from builder.compare.score import THRESHOLD, score_of
from builder.ranks.joining.tolerances import (
    Roundings,
    amplified,
    epsilon_of,
    nearer,
    recorded_rounding,
    same,
    sum_rounding,
    unlike_copies,
    which_are_off,
)
from msprobe_core.torch.measure.numbers import measure_now

_FORMATS = ("float32", "bfloat16", "float16")
_formats = st.sampled_from(_FORMATS)
_seeds = st.integers(0, 10_000)
Floats = NDArray[np.float64]


def _drawn(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _exact(tensor: torch.Tensor) -> Floats:
    return tensor.double().numpy()


@given(_formats, st.integers(2, 64), st.integers(1, 2000), _seeds)
def test_a_sum_over_ranks_keeps_within_its_rounding(
    name: str, ranks: int, count: int, seed: int
) -> None:
    parts = _drawn((ranks, count), seed).to(getattr(torch, name))
    made = parts[0].clone()
    for part in parts[1:]:
        made += part  # rounds to the format, as a ring of ranks does
    exact = _exact(parts)
    off = abs(_exact(made).mean() - exact.mean(1).sum())
    scale = np.sqrt(np.square(exact).mean(1)).sum()
    assert off <= sum_rounding(ranks, epsilon_of([name]), count) * scale
    # A part that counts twice is seen, unless the format itself cannot tell it.
    doubled = abs(exact[0].mean())
    if ranks * epsilon_of([name]) * scale < doubled:
        assert doubled > sum_rounding(ranks, epsilon_of([name]), count) * scale


@given(st.integers(2, 200_000), _seeds, st.sampled_from(_FORMATS))
def test_recorded_numbers_keep_within_their_rounding(count: int, seed: int, name: str) -> None:
    values = _drawn((count,), seed).to(getattr(torch, name))
    exact = _exact(values)
    limit, norm = recorded_rounding(count), float(np.linalg.norm(exact))
    recorded = json.loads("{" + measure_now(values).text.removeprefix(",") + "}")
    assert abs(recorded["Mean"] * count - exact.sum()) <= limit * np.abs(exact).sum()
    assert abs(recorded["Norm"] - norm) <= limit * norm


@pytest.mark.parametrize("name", _FORMATS)
@pytest.mark.parametrize("blocks", [1, 4, 16])
@pytest.mark.parametrize("ranks", [2, 8])
def test_a_cut_network_is_read_as_what_it_is(name: str, blocks: int, ranks: int) -> None:
    """Row-parallel layers behind each other: their sums fit, what else they might be does not."""
    dtype, width = getattr(torch, name), 64
    rounding = Roundings(epsilon_of([name]), {}, 4.0 * 1.03**blocks).of("", [name])
    whole = cut = _drawn((32, width), 1).to(dtype)
    for block in range(blocks):
        weight = (_drawn((width, width), 2 + block) / width**0.5).to(dtype)
        own = [x @ w for x, w in zip(cut.chunk(ranks, 1), weight.chunk(ranks, 0), strict=True)]
        whole = torch.nn.functional.layer_norm(whole @ weight + whole, (width,))
        total = own[0].clone()
        for part in own[1:]:
            total += part
        cut = torch.nn.functional.layer_norm(total + cut, (width,))
    error = _apart(cut, whole)
    assert error <= same(rounding)
    for other in (cut.chunk(ranks, 1)[0].repeat(1, ranks), 2 * cut, cut / 2, cut.roll(1, 0)):
        assert _apart(other, whole) > nearer(rounding)


def _apart(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    distance = np.linalg.norm(_exact(ours) - _exact(theirs))
    return float(distance / np.linalg.norm(_exact(theirs)))


@given(_formats, st.integers(2, 16), st.floats(1e-3, 1.0), _seeds)
def test_parts_that_cancel_have_the_rounding_of_the_parts(
    name: str, ranks: int, left: float, seed: int
) -> None:
    """Parts are large, their sum is small: what is left carries the rounding of each part."""
    exact = _exact(_drawn((ranks, 500), seed))
    exact -= (1.0 - left) * exact.mean(0)
    rounded = _exact(torch.from_numpy(exact).to(getattr(torch, name)))
    whole = exact.sum(0)
    error = np.linalg.norm(rounded.sum(0) - whole) / np.linalg.norm(whole)
    rounding = np.array([Roundings().of("", [name])])
    parts = np.array([np.linalg.norm(exact)])
    assert error <= amplified(rounding, parts, np.array([np.linalg.norm(whole)]))[0]


@given(st.floats(1e-8, 1.0))
def test_what_is_the_same_also_fits(rounding: float) -> None:
    assert rounding * 0.29 <= same(rounding) <= nearer(rounding) < 0.293


def test_shards_that_are_much_alike_are_no_copies_in_any_format() -> None:
    assert unlike_copies(np.array([0.0, 1e-5, 0.016, 3.0])).tolist() == [0.0, 1e-5, 1.0, 3.0]


def test_what_is_joined_as_the_same_is_no_finding() -> None:
    """The share of the way that `same` allows is that of the score's threshold."""
    for rounding in (1e-7, 4e-7, 3e-2):
        limit = float(same(rounding))
        score = score_of(np.array([limit * (1 - 1e-9)]), np.array([rounding]))
        assert score[0] <= THRESHOLD
    assert score_of(same(1e-7) * (1 + 1e-6), np.array(1e-7)) > THRESHOLD


@pytest.mark.parametrize(
    ("errors", "off"),
    [
        ([1e-7, 0.5], [False, True]),
        ([0.4, 0.5], [False, False]),
        ([1e-7, 3e-7], [False, False]),
        ([1e-3, 1e-3, 0.9], [False, False, True]),
        ([float("nan"), 1e-7], [True, False]),
        ([float("nan"), float("nan")], [False, False]),
    ],
)
def test_parts_that_stand_out_are_off(errors: list[float], off: list[bool]) -> None:
    assert which_are_off(errors, 5e-7) == off
