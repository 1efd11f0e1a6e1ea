"""Noise learnt from a twin: what families are, where limits lie, and what they find or let pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builder.series.limits import Limits
from builder.series.noise import Noise, NoiseError, Tail, family_of, read_noise, together
from builder.series.parting import compare_runs, learn_noise
from builder.series.run import Key, TrendRun
from tests.builder.series.stores import write_steps

STEPS, WIDTH = 300, 6
KEY: Key = ("actv", "layers.0.fc")


def wandering(seed: int, scale: float = 1e-4) -> np.ndarray:
    """Norms off by noise that neither grows nor comes in storms, one series each."""
    chance = np.random.default_rng(seed)
    return 2.0 ** (scale * chance.standard_normal((STEPS, WIDTH)))


def written(path: Path, values: np.ndarray) -> TrendRun:
    write_steps(path, values, range(len(values)), kind="actv")
    return TrendRun(path)


def test_layers_are_one_family_and_other_numbers_are_names() -> None:
    assert family_of(("grad", "layers.12.fc1.weight")) == family_of(("grad", "layers.3.fc1.weight"))
    assert family_of(("grad", "fc1.weight")) != family_of(("grad", "fc2.weight"))


@pytest.mark.parametrize("seed", range(20))
def test_an_exponential_tail_is_exceeded_as_rarely_as_is_said(seed: int) -> None:
    chance = np.random.default_rng(seed)
    tail = Tail.of(chance.exponential(0.5, 1000))
    assert tail.scale == pytest.approx(0.5, rel=0.5)
    later = chance.exponential(0.5, 10_000)
    assert later.max() < tail.limit(10, 100)


def test_limits_are_those_of_the_rules_where_a_twin_showed_nothing() -> None:
    noise = Noise(200, {"rise": {"actv": Tail(200, 0.5, 0.1)}})
    fixed = Limits.of([KEY])
    learnt = noise.limits([KEY], 200)
    assert learnt.rise[0] < fixed.rise[0]
    assert learnt.leap[0] == fixed.leap[0]
    assert noise.limits([("loss", "loss")], 200).rise[0] == fixed.rise[0]


def test_several_twins_say_the_largest_of_what_they_say() -> None:
    one, two = (
        Noise(n, {"leap": {"actv": Tail(n, largest, 0.1)}}) for n, largest in ((90, 4), (80, 1))
    )
    both = together([one, two])
    assert (both.steps, both.tails["leap"]["actv"].largest) == (80, 4)


def test_calm_noise_lets_a_small_fault_be_seen(tmp_path: Path) -> None:
    sound = written(tmp_path / "sound", np.ones((STEPS, WIDTH)))
    twin = written(tmp_path / "twin", wandering(1))
    values = wandering(2)
    values[200:, 3] *= 2.0**0.002
    faulty = written(tmp_path / "faulty", values)
    noise = learn_noise(twin, sound)
    assert compare_runs(faulty, sound).verdict == "noise"
    found = compare_runs(faulty, sound, noise)
    assert (found.verdict, found.step) == ("parts", 200)
    other = written(tmp_path / "other", wandering(3))
    assert compare_runs(other, sound, noise).verdict == "noise"


def rounded(seed: int) -> np.ndarray:
    """Weights whose norm leaps by one size wherever an element takes the other sign."""
    chance = np.random.default_rng(seed)
    flips = np.cumsum(chance.random((STEPS, WIDTH)) < 0.02, axis=0) * 2.0**-8
    return 2.0 ** (flips + 2.0**-19 * chance.standard_normal((STEPS, WIDTH)))


def test_a_single_element_of_an_update_is_noise_beside_a_twin(tmp_path: Path) -> None:
    def run(name: str, values: np.ndarray) -> TrendRun:
        write_steps(tmp_path / name, values, range(STEPS), kind="param")
        return TrendRun(tmp_path / name)

    sound, twin = run("sound", np.ones((STEPS, WIDTH))), run("twin", rounded(1))
    noise = learn_noise(twin, sound)
    for seed in (2, 3, 4):
        other = run(f"other-{seed}", rounded(seed))
        assert compare_runs(other, sound).verdict == "parts"
        assert compare_runs(other, sound, noise).verdict == "noise"


def test_a_twin_that_is_equal_or_too_short_teaches_nothing(tmp_path: Path) -> None:
    sound = written(tmp_path / "sound", np.ones((STEPS, WIDTH)))
    with pytest.raises(NoiseError, match="equal to the last digit"):
        learn_noise(written(tmp_path / "same", np.ones((STEPS, WIDTH))), sound)
    with pytest.raises(NoiseError, match="too few"):
        learn_noise(written(tmp_path / "short", wandering(1)[:90]), sound)


def test_a_file_says_what_was_learnt(tmp_path: Path) -> None:
    noise = Noise(200, {"rise": {"actv": Tail(200, 0.5, 0.1)}})
    path = tmp_path / "noise.json"
    path.write_text(noise.written(), encoding="utf-8")
    assert read_noise(path).limits([KEY], 99).rise[0] == noise.limits([KEY], 99).rise[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"format": "trends"}',
        '{"format": "trend-noise", "version": 2}',
        '{"format": "trend-noise", "version": 1, "steps": 3, "tails": {"rise": {"actv": [1]}}}',
    ],
)
def test_another_file_is_refused_by_its_name(text: str, tmp_path: Path) -> None:
    path = tmp_path / "noise.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NoiseError, match=r"noise\.json"):
        read_noise(path)
