"""How far apart an optimizer may read a gradient that was clipped where nothing records it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from builder.diagnosis.policies.by_excess.edges import GradientShares

Gradients = dict[str, NDArray[np.float64]]
NORM = np.linalg.norm


def _clipped(gradients: Gradients) -> Gradients:
    whole = NORM([NORM(g) for g in gradients.values()])
    return {name: g / whole for name, g in gradients.items()}


def _share(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    return float(NORM(ours - theirs) / max(NORM(ours), NORM(theirs)))


@pytest.mark.parametrize("noise", [1e-6, 1e-3, 0.3])
def test_a_clipped_gradient_is_no_further_apart_than_its_own_and_the_norm_of_all(
    noise: float,
) -> None:
    random = np.random.default_rng(3)
    theirs = {name: random.normal(size=size) for name, size in (("weight", 900), ("bias", 30))}
    # Terms that cancel: the gradient of the bias is mostly rounding.
    apart = {"weight": noise / 100, "bias": noise}
    ours = {n: g + apart[n] * random.normal(size=g.size) for n, g in theirs.items()}
    shares = GradientShares()
    for name, gradient in theirs.items():
        norm = float(max(NORM(ours[name]), NORM(gradient)))
        distance = float(NORM(ours[name] - gradient))
        shares.add(gradient.size, _share(ours[name], gradient), distance, norm)
    read, expected = _clipped(ours), _clipped(theirs)
    for name in theirs:
        bound = shares.of_size(theirs[name].size)
        assert bound is not None
        assert _share(read[name], expected[name]) <= 1.01 * bound
    weight, bias = (shares.of_size(size) for size in (900, 30))
    # What is off in the bias says nothing of what the optimizer reads of the weight.
    assert weight is not None and bias is not None
    assert weight < bias / 3


def test_of_a_size_that_no_gradient_has_nothing_is_known() -> None:
    shares = GradientShares()
    assert shares.of_size(4) is None
    shares.add(4, 0.1, 0.0, 1.0)
    assert shares.of_size(4) is None  # no gradient of a parameter was seen
    shares.add(9, 0.1, 0.1, 1.0)
    assert shares.of_size(4) == pytest.approx(0.2)
    assert shares.of_size(5) is None
