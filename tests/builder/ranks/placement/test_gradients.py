"""Over whom gradients were reduced and by what factor, fitted to sketches of real tensors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builder.ranks.placement.gradients import Reduction, unusual_factors

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
