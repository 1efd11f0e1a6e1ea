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


Changed = dict[int, tuple[float, float]]
"""The columns that are so many times as large in a step, and have so many elements more."""


def write(run: Path, changes: dict[int, Changed] | None = None) -> Path:
    """A run in which something is changed, by its step."""
    write_run(run, {"modules": []})
    writer = SeriesWriter(run, 0)
    writer.add_targets([TrendTarget(*key, place=i) for i, key in enumerate(KEYS)])
    chance = np.random.default_rng(1 if changes is None else 2)
    for step in range(STEPS):
        made = table(1 + 1e-6 * chance.standard_normal(len(KEYS)))
        made[STATISTICS.index("size"), 1:3] += [step % 3, 2 - step % 3]  # two experts
        for column, (factor, more) in (changes or {}).get(step, {}).items():
            made[: STATISTICS.index("size"), column] *= factor
            made[STATISTICS.index("size"), column] += more
        writer.write(step, made)
    writer.close()
    return run


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> TrendRun:
    return TrendRun(write(tmp_path_factory.mktemp("runs") / "sound"))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({1: (1.001, 8), 2: (0.999, 7), 4: (1.2, 0), 5: (1.1, 0), 6: (1.1, 0)}, None),
        ({1: (1.1, 0), 2: (0.999, 7), 4: (1.2, 0)}, None),  # gave one away and got another
        ({1: (1.1, 0)}, ("actv", "block.experts.0")),
        ({1: (1.001, 8), 3: (1.001, 0), 7: (1.001, 0)}, None),
        ({1: (1.001, 8), 3: (1.1, 0)}, ("actv", "block")),
        ({1: (1.001, 8), 7: (1.1, 0)}, ("param", "head.weight")),
        ({0: (1.1, 8), 1: (1.1, 8)}, ("actv", "emb")),
    ],
)
def test_where_sizes_differ_numbers_are_of_other_tokens(
    tmp_path: Path,
    sound: TrendRun,
    changed: Changed,
    named: tuple[str, str] | None,
) -> None:
    found = compare_runs(TrendRun(write(tmp_path / "run", {AT: changed})), sound)
    assert (found.verdict, found.target) == ("noise" if named is None else "parts", named)


TOKENS: Changed = {1: (1.001, 8), 2: (0.999, 7)}
SWAPPED: Changed = {1: (1.1, 0), 2: (0.95, 0)}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({60: TOKENS, AT: SWAPPED}, None),
        ({60: TOKENS, AT: SWAPPED, **dict.fromkeys(range(AT + 1, AT + 4), TOKENS)}, None),
        ({60: TOKENS, **dict.fromkeys(range(AT, STEPS), SWAPPED)}, "block.experts.0"),
        ({60: TOKENS, **dict.fromkeys(range(AT, STEPS), SWAPPED), 82: TOKENS}, "block.experts.0"),
        ({60: TOKENS, AT: {3: (1.1, 0)}}, "block"),
        ({AT: SWAPPED, 100: TOKENS}, "block.experts.0"),
    ],
)
def test_where_tokens_changed_places_lately_an_expert_parts_by_what_lasts(
    tmp_path: Path, sound: TrendRun, changes: dict[int, Changed], named: str | None
) -> None:
    """As many may have come as went, and nothing tells that they were others."""
    found = compare_runs(TrendRun(write(tmp_path / "run", changes)), sound)
    assert found.target == (None if named is None else ("actv", named))
    assert found.step == (None if named is None else AT)
