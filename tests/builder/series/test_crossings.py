"""A gradient of two elements passes through zero: noise of one size is many octaves there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builder.series.crossings import losses_through_zero, of_few, shares_of_usual
from builder.series.octaves import octaves_apart
from builder.series.parting import Context, first_divergence
from builder.series.run import TrendRun
from msprobe_core.format.series import TrendTarget
from msprobe_core.monitor.store import SeriesWriter, write_run
from tests.builder.series.stores import table

KEYS = [*(("actv", f"m{i}") for i in range(6)), ("grad", "head.bias"), ("ratio", "head.bias")]
FEW, STEPS = np.asarray([6, 7]), 230


def two_runs(seed: int, noise: float = 0.02) -> tuple[np.ndarray, np.ndarray]:
    """Norms of a gradient of two elements, and of its update, that differ by a vector."""
    chance = np.random.default_rng(seed)
    b = np.exp(0.1 * chance.standard_normal((STEPS, len(KEYS))))
    a = b * 2 ** (3e-5 * np.cumsum(chance.standard_normal(b.shape), 0))
    gradient = chance.standard_normal((STEPS, 2))
    other = gradient + noise * np.minimum(1, np.arange(STEPS) / 60)[:, None]
    b[:, 6], a[:, 6] = np.hypot(*gradient.T), np.hypot(*other.T)
    b[:, 7], a[:, 7] = 1e-3 * b[:, 6], 1e-3 * a[:, 6]
    return a, b


def test_by_their_usual_size_two_runs_are_no_farther_apart_than_the_noise_is_large() -> None:
    a, b = two_runs(2, noise=0.005)
    shares = shares_of_usual(a, b, FEW)
    raw = octaves_apart(a, b)[:, 6]
    usual = raw * shares[:, 6]
    # |log2(1 + e/g)| g/u is at most e/(u ln 2) but for what one of the two has more than the other.
    bound = 2 * 0.005 * 2**0.5 / (np.median(b[:, 6]) * np.log(2))
    assert raw.max() > 3 * bound
    assert usual[16:].max() < bound
    assert (shares[:, :6] == 1).all()


def test_what_comes_back_from_zero_has_not_moved() -> None:
    steps = np.arange(STEPS)
    parted = {few is None: [] for few in (None, FEW)}
    for seed in range(20):
        for few in (None, FEW):
            found = first_divergence(KEYS, steps, *two_runs(seed), Context(few=few))
            parted[few is None].append(found.verdict == "parts")
    assert any(parted[True])
    assert not any(parted[False])


def test_a_gradient_of_two_elements_that_is_wrong_is_found() -> None:
    a, b = two_runs(0, noise=1e-5)
    a[150:, 6:] *= 1.5
    found = first_divergence(KEYS, np.arange(STEPS), a, b, Context(few=FEW))
    assert (found.step, found.target) == (150, ("grad", "head.bias"))


LOSS = [*KEYS[:6], ("loss", "loss")]


def losses(seed: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """A loss that swings around zero, and another one that is off by noise that has grown."""
    a, b = (each[:, :7] for each in two_runs(seed))
    b[:, 6] = np.random.default_rng(seed + 100).standard_normal(STEPS)
    a[:, 6] = b[:, 6] + noise * np.minimum(1, np.arange(1, STEPS + 1) / 60)
    return a, b


def test_a_loss_that_passes_through_zero_has_not_moved() -> None:
    parted = {few is None: [] for few in (None, [6])}
    for seed in range(20):
        a, b = losses(seed, 1e-3)
        assert losses_through_zero(LOSS, a, b).tolist() == [6]
        for few in (None, [6]):
            places = None if few is None else np.asarray(few)
            found = first_divergence(LOSS, np.arange(STEPS), a, b, Context(few=places))
            parted[few is None].append(found.verdict == "parts")
    assert any(parted[True])
    assert not any(parted[False])


@pytest.mark.parametrize("seed", range(5))
def test_a_loss_of_the_other_sign_is_found(seed: int) -> None:
    a, b = losses(seed, 1e-5)
    b[150, 6] = a[150, 6] = 1.0
    a[150, 6] *= -1
    found = first_divergence(LOSS, np.arange(STEPS), a, b, Context(few=np.asarray([6])))
    assert (found.step, found.target) == (150, ("loss", "loss"))


def test_losses_of_one_sign_are_counted_as_they_are() -> None:
    a, b = losses(0, 1e-3)
    for sign in (1, -1):
        one, other = a.copy(), b.copy()
        one[:, 6], other[:, 6] = sign * np.abs(a[:, 6]), sign * np.abs(b[:, 6])
        one[3, 6], other[4, 6] = np.nan, -np.inf
        assert losses_through_zero(LOSS, one, other).tolist() == []


def test_from_one_sign_to_the_other_it_is_as_far_as_through_zero() -> None:
    one, other = np.asarray([0.5, 1e-3, -2.0, 1e-30]), np.asarray([-0.5, -2e-3, -2.0, -1.0])
    apart = octaves_apart(one, other)
    assert apart == pytest.approx([2 / np.log(2), 3 / np.log(2), 0, 64])


def test_updates_have_the_elements_of_their_parameters(tmp_path: Path) -> None:
    write_run(tmp_path, {"modules": []})
    writer = SeriesWriter(tmp_path, 0)
    shapes = {"head.bias": (2,), "head.weight": (2, 24)}
    targets = [
        TrendTarget(kind, name, shape if kind != "ratio" else ())
        for kind in ("actv", "grad", "ratio", "param")
        for name, shape in shapes.items()
    ]
    writer.add_targets(targets)
    writer.write(0, table([1] * len(targets)))
    writer.close()
    keys = [target.key for target in targets]
    few = [keys[i] for i in of_few(TrendRun(tmp_path), keys)]
    assert few == [("grad", "head.bias"), ("ratio", "head.bias")]
