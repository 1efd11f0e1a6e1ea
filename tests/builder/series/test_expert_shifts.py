"""An expert whose tokens change places in each step parts by what lasts to one side."""

from __future__ import annotations

import numpy as np
import pytest

from builder.series.expert_shifts import shifts_of_experts

STEPS, TARGETS, AT = 220, 8, 150


def noise(seed: int) -> np.ndarray:
    """log2 of root mean squares apart: Gaussian where tokens were exchanged; half no experts."""
    apart = 0.01 * np.random.default_rng(seed).standard_normal((STEPS, TARGETS))
    apart[:, 4:] = np.nan
    return apart


def found(apart: np.ndarray, every: int = 1, before: float = 0.0) -> list[tuple[int, int]]:
    """Where experts part: step and target; tokens change places in every so manieth step."""
    aside = np.zeros(apart.shape, dtype=bool)
    aside[::every] = True
    shifted, _ = shifts_of_experts(apart, aside, np.full(apart.shape, before))
    return [(int(step), int(target)) for step, target in np.argwhere(shifted)]


@pytest.mark.parametrize("seed", range(20))
def test_tokens_that_come_and_go_are_no_shift(seed: int) -> None:
    assert found(noise(seed)) == []


def test_what_lasts_to_one_side_is_a_shift_from_its_first_step_on() -> None:
    apart = noise(0)
    apart[AT:, 2] -= 0.14
    assert found(apart)[0] == (AT, 2)
    assert {target for _, target in found(apart)} == {2}
    assert found(apart, before=3.0) == []  # what comes before it in the step rose as far


def test_what_swings_or_passes_is_none() -> None:
    swinging, passing = noise(0), noise(0)
    swinging[AT:, 2] += np.resize([0.14, -0.14], STEPS - AT)
    passing[AT : AT + 7, 2] += 0.14
    assert found(swinging) == found(passing) == []


def test_experts_whose_tokens_seldom_change_places_are_judged_by_their_norms() -> None:
    apart = noise(0)
    apart[AT:, 2] -= 0.14
    assert found(apart, every=3) == []
    assert found(apart[:40]) == []
