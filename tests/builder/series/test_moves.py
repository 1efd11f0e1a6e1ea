"""Moves of made-up runs: a storm in which everything moves is none, one target's own is one."""

from __future__ import annotations

import numpy as np
import pytest

from builder.series.limits import Limits
from builder.series.moves import Floats, moves_of
from builder.series.parting import first_divergence
from builder.series.run import Key

NAMES = [f"layers.{i}.weight" for i in range(6)]
KEYS: list[Key] = [
    *(("actv", f"layers.{i}") for i in range(6)),
    *((kind, name) for kind in ("grad", "ratio", "param") for name in NAMES),
]
STEPS, FAULT = 220, 150


def stormy(seed: int) -> tuple[Floats, Floats]:
    """Two runs that drift apart; every 20 steps all targets move 30 times as far and come back."""
    chance = np.random.default_rng(seed)
    wander = chance.standard_normal((STEPS, len(KEYS))) * 1e-3
    wander[::20] *= 30
    return np.ones((STEPS, len(KEYS))), 2.0**wander


def found(a: Floats, b: Floats) -> list[tuple[int, Key]]:
    moves, limits = moves_of(KEYS, a, b), Limits.of(KEYS)
    moved = (moves.staying > limits.staying) | (moves.with_update > limits.with_update)
    return [(int(at), KEYS[i]) for at, i in np.argwhere(moved)]


@pytest.mark.parametrize("seed", range(10))
def test_storms_move_nothing_alone(seed: int) -> None:
    assert found(*stormy(seed)) == []


@pytest.mark.parametrize("at", [FAULT, 160])
def test_an_output_that_stays_moved_is_found_in_calm_and_in_a_storm(at: int) -> None:
    a, b = stormy(0)
    calm = at % 20 != 0
    b[at:, 4] *= 1.07 if calm else 4.0
    assert (at, ("actv", "layers.4")) in found(a, b)
    assert {step for step, _ in found(a, b)} == {at}
    parted = first_divergence(KEYS, np.arange(STEPS), a, b)
    assert (parted.step, parted.target) == (at, ("actv", "layers.4"))


def test_an_output_that_comes_back_at_once_is_weather() -> None:
    a, b = stormy(1)
    b[FAULT, 4] *= 1.07
    assert found(a, b) == []


def test_a_gradient_counts_together_with_its_update() -> None:
    a, b = stormy(2)
    gradient, update = KEYS.index(("grad", NAMES[2])), KEYS.index(("ratio", NAMES[2]))
    b[FAULT, gradient] *= 1.06
    assert found(a, b) == []
    b[FAULT : FAULT + 10, update] *= 1.06
    assert found(a, b) == [(FAULT, ("grad", NAMES[2]))]


def test_an_update_that_its_gradient_does_not_explain_is_not_the_gradients() -> None:
    a, b = stormy(2)
    b[FAULT : FAULT + 10, KEYS.index(("ratio", NAMES[2]))] *= 8
    assert found(a, b) == []


def test_a_gradient_that_comes_back_has_not_moved() -> None:
    a, b = stormy(2)
    b[FAULT - 1, KEYS.index(("grad", NAMES[2]))] *= 1.06
    b[FAULT : FAULT + 10, KEYS.index(("ratio", NAMES[2]))] *= 1.06
    assert found(a, b) == []


def test_a_weight_that_jumps_is_found_without_activations() -> None:
    a, b = stormy(3)
    b[FAULT:, KEYS.index(("param", NAMES[0]))] *= 1.1
    assert found(a, b) == [(FAULT, ("param", NAMES[0]))]


def test_what_was_hardly_measured_says_nothing() -> None:
    a, b = stormy(4)
    b[FAULT:, 4] *= 2
    b[: FAULT - 1 : 3, 4] = -np.inf
    a[: FAULT - 1 : 3, 4] = -np.inf
    assert found(a, b) == []
    assert found(a[:3], b[:3]) == []
