"""A token that rounding sent to another expert is no difference; another batch is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builder.series.parting import compare_runs
from builder.series.run import TrendRun
from msprobe_core.format.series import STATISTICS, TrendTarget
from msprobe_core.monitor.store import SeriesWriter, write_run
from tests.builder.series.stores import table

KEYS = (
    *(("actv", "emb"), ("actv", "block.experts.0"), ("actv", "block.experts.1"), ("actv", "block")),
    *(("grad", "block.experts.0.weight"), ("grad", "block.router.weight")),
    *(("exp_avg", "block.experts.0.weight"), ("param", "head.weight")),
)
STEPS, AT = 120, 80


def write(run: Path, changed: dict[int, tuple[float, float]] | None = None) -> Path:
    """A run in which some columns are so many times as large, and have so many elements, at AT."""
    write_run(run, {"modules": []})
    writer = SeriesWriter(run, 0)
    writer.add_targets([TrendTarget(*key, place=i) for i, key in enumerate(KEYS)])
    chance = np.random.default_rng(1 if changed is None else 2)
    for step in range(STEPS):
        made = table(1 + 1e-6 * chance.standard_normal(len(KEYS)))
        for column, (factor, size) in (changed or {}).items() if step == AT else ():
            made[:, column] *= factor
            made[STATISTICS.index("size"), column] = size
        writer.write(step, made)
    writer.close()
    return run


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> TrendRun:
    return TrendRun(write(tmp_path_factory.mktemp("runs") / "sound"))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({1: (1.001, 9), 2: (0.999, 8), 4: (1.2, 1), 5: (1.1, 1), 6: (1.1, 1)}, None),
        ({1: (1.1, 1)}, ("actv", "block.experts.0")),
        ({1: (1.001, 9), 3: (1.001, 1), 7: (1.001, 1)}, None),
        ({1: (1.001, 9), 3: (1.1, 1)}, ("actv", "block")),
        ({1: (1.001, 9), 7: (1.1, 1)}, ("param", "head.weight")),
        ({0: (1.1, 9), 1: (1.1, 9)}, ("actv", "emb")),
    ],
)
def test_where_sizes_differ_numbers_are_of_other_tokens(
    tmp_path: Path,
    sound: TrendRun,
    changed: dict[int, tuple[float, float]],
    named: tuple[str, str] | None,
) -> None:
    found = compare_runs(TrendRun(write(tmp_path / "run", changed)), sound)
    assert (found.verdict, found.target) == ("noise" if named is None else "parts", named)
