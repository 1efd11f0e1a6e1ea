"""Where two made-up runs part: equal, noise, a step, what is first in it, values not finite."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from builder.series.parting import Divergence, compare_runs, first_divergence
from builder.series.run import TrendRun
from tests.builder.series.stores import write_steps

KEYS = [("actv", "a"), ("loss", "loss"), ("grad", "a.weight")]


def noisy(steps: int, scale: float, seed: int = 0) -> np.ndarray:
    """Norms whose logarithm wanders by noise that grows as a power of the step."""
    chance = np.random.default_rng(seed)
    growth = scale * (1 + np.arange(steps))[:, None]
    return 2.0 ** (growth * chance.standard_normal((steps, len(KEYS))))


def found(a: np.ndarray, b: np.ndarray) -> Divergence:
    return first_divergence(KEYS, np.arange(len(a)), a, b)


def test_the_same_runs_are_equal_to_the_last_digit() -> None:
    a = noisy(100, 1e-3)
    assert found(a, a.copy()).verdict == "equal"


def test_runs_that_were_equal_part_at_the_first_difference() -> None:
    a = noisy(100, 1e-3)
    b = a.copy()
    b[40:, 1:] *= 1 + 1e-6
    parted = found(a, b)
    assert (parted.verdict, parted.step, parted.target) == ("parts", 40, ("loss", "loss"))
    assert parted.others == (("grad", "a.weight"),)


@pytest.mark.parametrize(("off", "named"), [(40.0, True), (1.001, False)])
def test_an_output_of_another_weight_names_the_weight(off: float, named: bool) -> None:
    keys = [("actv", "m.down"), ("param", "m.up.weight"), ("param", "m.down.weight")]
    a, b = (np.full((30, 3), 2.0) for _ in "ab")
    a[20:] *= (40.0, 80.0, off)
    parted = first_divergence(keys, np.arange(30), a, b)
    assert (parted.step, parted.target) == (20, ("actv", "m.down"))
    assert parted.weight == (("param", "m.down.weight") if named else None)
    assert parted.factor == (pytest.approx(off) if named else None)


@pytest.mark.parametrize("seed", range(20))
def test_noise_that_grows_is_noise(seed: int) -> None:
    a = np.ones((400, len(KEYS)))
    assert found(a, noisy(400, 1e-7, seed)).verdict == "noise"


@pytest.mark.parametrize("seed", range(10))
def test_a_step_out_of_the_noise_is_found(seed: int) -> None:
    a = np.ones((300, len(KEYS)))
    b = noisy(300, 1e-7, seed)
    b[120:, 2] *= 1.05
    parted = found(a, b)
    assert (parted.step, parted.target) == (120, ("grad", "a.weight"))


@pytest.mark.parametrize("at", [0, 3, 15, 297, 298, 299])
@pytest.mark.parametrize("factor", [1.05, 40.0, np.inf])
def test_the_first_and_last_steps_are_not_called_noise(at: int, factor: float) -> None:
    a = np.ones((300, len(KEYS)))
    b = noisy(300, 1e-7)
    b[at, 2] *= factor
    assert found(a, b).verdict == "noise"
    assert found(a, b).unjudged == 1
    assert found(a, noisy(300, 1e-7)).unjudged == 0


def test_a_value_that_is_not_finite_on_one_side_parts() -> None:
    a = np.ones((50, len(KEYS)))
    b = a.copy()
    b[30:, 0] = np.nan
    assert (found(a, b).step, found(a, b).target) == (30, ("actv", "a"))


def test_runs_with_nothing_in_common_say_so(tmp_path: Path) -> None:
    write_steps(tmp_path / "a", np.ones((5, 1)), range(5), kind="grad")
    write_steps(tmp_path / "b", np.ones((5, 1)), range(5), kind="param")
    parted = compare_runs(TrendRun(tmp_path / "a"), TrendRun(tmp_path / "b"))
    assert parted.verdict == "nothing"


def test_the_last_bit_of_a_norm_is_no_difference_to_part_by() -> None:
    a, b = np.ones((120, len(KEYS))), noisy(120, 1e-7)
    b[:60, 1] = 1
    b[60:, 1] = 1 + 2.0**-23
    assert found(a, b).verdict == "noise"


def test_only_steps_of_both_are_compared(tmp_path: Path) -> None:
    write_steps(tmp_path / "a", np.ones((50, 1)), range(50))
    late = np.ones((40, 1))
    late[20:] = 2
    write_steps(tmp_path / "b", late, range(10, 50))
    parted = compare_runs(TrendRun(tmp_path / "a"), TrendRun(tmp_path / "b"))
    assert (parted.step, parted.steps) == (30, 40)


def test_one_wrong_step_is_found_though_it_does_not_last() -> None:
    a = np.ones((300, len(KEYS)))
    b = noisy(300, 1e-7)
    b[200, 2] *= 1.5
    parted = found(a, b)
    assert (parted.verdict, parted.step, parted.target) == ("parts", 200, ("grad", "a.weight"))


@pytest.mark.parametrize("seed", range(10))
def test_noise_that_has_settled_is_left_by_less(seed: int) -> None:
    """A gradient that is doubled once, where runs are apart by 2^-4 octaves and more at times."""
    a = np.ones((300, len(KEYS)))
    b = 2.0 ** (0.05 * np.random.default_rng(seed).standard_normal((300, len(KEYS))))
    b[:8] = 2.0 ** (1e-6 * (np.arange(8)[:, None] + 1))
    assert found(a, b).verdict == "noise"
    b[200, 2] *= 2
    parted = found(a, b)
    assert (parted.step, parted.target) == (200, ("grad", "a.weight"))


def test_an_average_needs_more_for_its_steps_are_hardly_four() -> None:
    keys = [("actv", "a"), ("exp_avg", "a.weight")]
    a, b = np.ones((300, 2)), noisy(300, 1e-5)[:, :2]
    largest = np.abs(np.log2(b[136:200, 1])).max()
    for octaves, verdict in ((4.5, "noise"), (7.5, "parts")):
        shifted = b.copy()
        shifted[200:210, 1] = 2.0 ** (largest * 2.0**octaves)
        assert first_divergence(keys, np.arange(300), a, shifted).verdict == verdict


@pytest.mark.parametrize(("least", "verdict"), [(2.0**-23.5, "noise"), (2.0**-20, "parts")])
def test_an_update_below_the_resolution_of_its_weight_is_no_difference(
    tmp_path: Path, least: float, verdict: str
) -> None:
    """The bias before a batch norm: its gradient is rounding, and one or two of its bits change."""
    for name, bits in (("problem", 2.0**-6), ("benchmark", 1.0)):
        values = np.full((100, 2), 0.5) * (1 + (name == "problem") * 1e-6)
        values[:, 1] = 0
        values[60:, 1] = least * bits  # by then it had been 0 in both
        write_steps(tmp_path / name, values, range(100), kind="ratio")
    found = compare_runs(TrendRun(tmp_path / "problem"), TrendRun(tmp_path / "benchmark"))
    assert found.verdict == verdict


@pytest.mark.parametrize("fault", [None, 20, 527, 528, 700, 1039, 1040])
def test_steps_are_judged_alike_wherever_a_stretch_of_them_begins(
    monkeypatch: pytest.MonkeyPatch, fault: int | None
) -> None:
    keys = [*KEYS, *(("param", f"layers.{i}.weight") for i in range(6))]
    chance = np.random.default_rng(4)
    a = np.ones((1200, len(keys)))
    b = 2.0 ** (1e-5 * chance.standard_normal(a.shape).cumsum(0))
    if fault is not None:
        b[fault:, 1] *= 1.2
    monkeypatch.setattr("builder.series.parting._STRETCH", 8192)
    whole = first_divergence(keys, np.arange(len(a)), a, b)
    assert (whole.step, whole.verdict) == (fault, "noise" if fault is None else "parts")
    monkeypatch.setattr("builder.series.parting._STRETCH", 512)
    parts = first_divergence(keys, np.arange(len(a)), a, b)
    assert replace(parts, band=0.0) == replace(whole, band=0.0)
    assert parts.band == pytest.approx(whole.band, rel=1e-9)
