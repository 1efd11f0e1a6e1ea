"""Over whom gradients were reduced and by what factor, fitted to sketches of real tensors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.ranks.placement.gradients import _AXES, Reduction, _are_alike, _factor, unusual_factors

SIZES = {"tp": 2, "dp": 4}


def _found(*factors: float, error: float = 1e-4, prefix: str = "layers") -> dict[str, Reduction]:
    names = [f"{prefix}.{number}.weight" for number in range(len(factors))]
    return {
        name: Reduction(name, f"Optimizer.{name}.0.forward", ("dp",), factor, error)
        for name, factor in zip(names, factors, strict=True)
    }


@pytest.mark.parametrize("times", [2.0, 4.0, 8.0, 0.5, 0.25, 16.0])
def test_a_gradient_that_is_off_by_the_size_of_a_group_is_named(times: float) -> None:
    (found,) = unusual_factors(_found(0.25, 0.25, 0.25, 0.25 * times), SIZES)
    assert found.found.parameter == "layers.3.weight"
    assert found.times == pytest.approx(times)
    assert found.peers == 3


@pytest.mark.parametrize(
    "factors",
    [
        (0.25, 0.25, 0.25, 0.25),
        (0.25, 0.25, 0.25, 0.325),  # a rule of its own that a program has for a layer
        (0.25, 0.25, 0.5, 0.5),  # no factor is that of most
        (0.25, 0.5),
    ],
)
def test_factors_that_say_nothing_are_left_alone(factors: tuple[float, ...]) -> None:
    assert list(unusual_factors(_found(*factors), SIZES)) == []


def test_experts_are_held_against_experts() -> None:
    """Their gradients are averaged over fewer ranks than those of all else."""
    layers = _found(0.25, 0.25, 0.25)
    experts = _found(0.5, 0.5, 0.5, prefix="layers.0.experts")
    assert list(unusual_factors(layers | experts, SIZES)) == []


def test_what_rounding_explains_is_no_other_factor() -> None:
    assert list(unusual_factors(_found(0.25, 0.25, 0.25, 0.2502, error=1e-2), SIZES)) == []


def test_a_gradient_that_data_does_not_change_may_be_a_mean_or_a_sum() -> None:
    """That of a penalty on weights, say: the mean over four ranks is what each of them has."""
    penalty = Reduction("scale", "Optimizer.scale.0.forward", (), 1.0, 1e-4, alike=4)
    assert list(unusual_factors(_found(0.25, 0.25, 0.25) | {"scale": penalty}, SIZES)) == []
    twice = replace(penalty, factor=4.0)
    assert list(unusual_factors(_found(0.25, 0.25, 0.25) | {"scale": twice}, SIZES)) != []


def _on_ranks(*gradients: list[float]) -> np.ndarray:
    """Gradients of data-parallel ranks on the grid of all axes."""
    shape = [1] * len(_AXES)
    shape[len(_AXES) - 1 - _AXES.index("dp")] = len(gradients)
    return np.array(gradients).reshape(*shape, -1)


@given(st.floats(0.1, 10), st.floats(1.001, 3), st.floats(0.05, 2))
def test_gradients_of_one_direction_are_no_one_ranks_own(
    size: float, times: float, factor: float
) -> None:
    """Those of the bias behind a softmax over two classes: each is the other one's multiple."""
    error = 1e-4
    own = [[size, -size, 0.0], [size * times, -size * times, 0.0]]
    parts = _on_ranks(*own)
    whole = np.broadcast_to(
        factor * parts.sum(axis=tuple(range(len(_AXES))), keepdims=True), parts.shape
    )
    assert _factor(whole, parts, ("dp",), error) == pytest.approx(factor, rel=1e-6)
    alone = _factor(whole, parts, (), error)
    assert alone is None or _are_alike(parts, "dp", 2 * error)


@given(st.floats(0, 2e-3), st.floats(1e-4, 1e-3))
def test_gradients_that_each_explain_the_mean_are_alike(apart: float, error: float) -> None:
    parts = _on_ranks([1.0, 2.0, -1.0], [1.0 + apart, 2.0 * (1 + apart), -1.0 - apart])
    mean = np.broadcast_to(parts.mean(axis=tuple(range(len(_AXES))), keepdims=True), parts.shape)
    explains = _factor(mean, parts, (), error) is not None
    assert not explains or _are_alike(parts, "dp", 2.1 * error)
