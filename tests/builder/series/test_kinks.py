"""What an element that comes or goes makes of a norm, against the norms themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builder.series.kinks import largest_kinks
from builder.series.parting import compare_runs
from builder.series.run import Key, TrendRun
from msprobe_core.format.series import STATISTICS, TrendTarget
from msprobe_core.monitor.store import SeriesWriter, write_run

KEYS: list[Key] = [
    *(("loss", "loss"), ("actv_grad", "fc"), ("grad", "fc.weight"), ("grad", "head.weight")),
]
STEPS, AT = 100, 70


def write(run: Path, gradient: np.ndarray, factor: float = 1.0, noise: float = 0.0) -> TrendRun:
    """A run whose gradients are all this one; at AT they are so many times as large."""
    write_run(run, {"modules": []})
    writer = SeriesWriter(run, 0)
    writer.add_targets([TrendTarget(*key, place=i) for i, key in enumerate(KEYS)])
    chance = np.random.default_rng(3)
    facts = {"norm": np.linalg.norm(gradient), "min": gradient.min(), "max": gradient.max()}
    for step in range(STEPS):
        table = np.zeros((len(STATISTICS), len(KEYS)), np.float32)
        for name, value in {"size": gradient.size, **facts}.items():
            table[STATISTICS.index(name)] = value
        table[0] *= 1 + noise * chance.standard_normal(len(KEYS))
        table[0, 1:] *= factor if step == AT else 1.0
        writer.write(step, table)
    writer.close()
    return TrendRun(run)


@pytest.mark.parametrize("seed", range(5))
def test_no_element_that_goes_moves_a_norm_farther(tmp_path: Path, seed: int) -> None:
    gradient = np.random.default_rng(seed).standard_t(4, 300)
    run = write(tmp_path, gradient)
    kinks = largest_kinks(run, KEYS, run.steps)
    norm = np.linalg.norm(gradient)
    moved = [np.log2(norm / np.linalg.norm(np.delete(gradient, i))) for i in range(300)]
    assert (kinks[:, 0] == 0).all()
    assert kinks[:, 1:] == pytest.approx(max(moved), rel=1e-4)


def test_a_kink_is_no_parting_and_more_than_one_element_is(tmp_path: Path) -> None:
    gradient = np.random.default_rng(0).standard_t(4, 300)
    sound = write(tmp_path / "sound", gradient)
    kink = 2 ** float(largest_kinks(sound, KEYS, sound.steps)[0, 1])
    for factor, verdict in ((kink**0.9, "noise"), (kink**2.5, "parts")):
        run = write(tmp_path / f"{verdict}", gradient, factor, 1e-6)
        assert compare_runs(run, sound).verdict == verdict
