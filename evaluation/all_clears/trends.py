"""Changes of what two trainings recorded each step: equal ones, and ones that are off by noise."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from builder.series.all_ranks import compare_all
from builder.series.run import TrendRun
from evaluation.all_clears.answers import Said, asked
from msprobe_core.format.series import STATISTICS, TrendTarget
from msprobe_core.monitor.store import SeriesWriter, write_run

Base = Literal["equal", "noise"]
BASES: tuple[Base, ...] = ("equal", "noise")
_STEPS, _RANKS, _NOISE = 40, 2, 1e-6
_TARGETS = [
    TrendTarget(kind, name, (4, 4), "float32", at)
    for at, (kind, name) in enumerate(
        [("loss", "loss"), ("actv", "fc"), ("grad", "fc.weight"), ("param", "fc.weight")]
    )
]
# [rank][step][statistic][target], NaN where nothing was measured.
Numbers = NDArray[np.float32]
_SIZE, _NORM = STATISTICS.index("size"), STATISTICS.index("norm")


def said_of_trends(base: Base, numbers: Iterable[int], folder: Path, seed: int) -> Iterator[Said]:
    """What `trend --compare` says of trainings of which either has a drawn change.

    First of trainings without one, which must be an all-clear.
    """
    sound, like = _training(0.0), _training(_NOISE if base == "noise" else 0.0)
    _write(sound, folder / "sound")
    _write(like, folder / "changed")
    yield _said(folder, swapped=False)
    for number in numbers:
        chance = np.random.default_rng([seed, number, len(base)])
        changed = like.copy()
        places = _PLACES if base == "equal" else _BEYOND_NOISE
        place = places[chance.integers(len(places))]
        told = place(changed, chance)
        _write(changed, folder / "changed")
        if place is _lost_rank:
            shutil.rmtree(folder / "changed" / f"rank{chance.integers(_RANKS)}")
        said = _said(folder, swapped=bool(number % 2))
        yield replace(said, change=f"trends of {base} {number}: {told}")


def _said(folder: Path, *, swapped: bool) -> Said:
    paths = [folder / "changed", folder / "sound"]
    one, other = reversed(paths) if swapped else paths
    return asked("trend --compare", lambda: compare_all(TrendRun(one), TrendRun(other)).claim)


def _training(noise: float) -> Numbers:
    """Numbers that fall slowly, each rank's own; sizes and counts are whole."""
    shape = (_RANKS, _STEPS, len(STATISTICS), len(_TARGETS))
    numbers = np.random.default_rng(0).uniform(0.9, 1.1, shape)
    numbers *= np.linspace(2, 1, _STEPS)[None, :, None, None]
    numbers *= 1 + noise * np.random.default_rng(1).standard_normal(shape)
    numbers[:, :, STATISTICS.index("nans") :] = 0
    numbers[:, :, _SIZE] = 16
    return numbers.astype(np.float32)


def _write(numbers: Numbers, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    write_run(folder, {"modules": []})
    for rank, steps in enumerate(numbers):
        there = ~np.isnan(steps[:, _NORM]).all(axis=0)
        writer = SeriesWriter(folder, rank)
        writer.add_targets([target for target, known in zip(_TARGETS, there) if known])
        for step, table in enumerate(steps):
            if not np.isnan(table[_NORM]).all():
                writer.write(step, np.ascontiguousarray(table[:, there]))
        writer.close()


# --- changes ------------------------------------------------------------------------------------


def _number(numbers: Numbers, chance: np.random.Generator) -> str:
    """Any number of any target, by 1 % or more; a count by one."""
    return _moved(numbers, chance, int(chance.integers(len(STATISTICS))))


def _norm(numbers: Numbers, chance: np.random.Generator) -> str:
    """A norm by four thousand times what noise makes of it, or more."""
    return _moved(numbers, chance, _NORM)


def _moved(numbers: Numbers, chance: np.random.Generator, statistic: int) -> str:
    at = _place(numbers, chance)
    place = (at[0], at[1], statistic, at[2])
    before = float(numbers[place])
    if statistic > _NORM + 3:
        numbers[place] += 1
    else:
        numbers[place] *= 1 + 10 ** chance.uniform(-2, 1)
    return f"{STATISTICS[statistic]} at {at}: {before} became {numbers[place]}"


def _not_finite(numbers: Numbers, chance: np.random.Generator) -> str:
    rank, step, target = _place(numbers, chance)
    numbers[rank, step, _NORM, target] = np.inf
    return f"infinite norm at {(rank, step, target)}"


def _not_measured(numbers: Numbers, chance: np.random.Generator) -> str:
    rank, step, target = _place(numbers, chance)
    numbers[rank, step, :, target] = np.nan
    numbers[rank, step, _SIZE, target] = 0
    return f"nothing measured at {(rank, step, target)}"


def _lost_step(numbers: Numbers, chance: np.random.Generator) -> str:
    rank, step, _ = _place(numbers, chance)
    numbers[rank, step] = np.nan
    return f"no step {step} on rank {rank}"


def _lost_target(numbers: Numbers, chance: np.random.Generator) -> str:
    rank, _, target = _place(numbers, chance)
    numbers[rank, :, :, target] = np.nan
    return f"no target {target} on rank {rank}"


def _lost_rank(_: Numbers, __: np.random.Generator) -> str:
    return "no such rank"


def _place(numbers: Numbers, chance: np.random.Generator) -> tuple[int, int, int]:
    ranks, steps, _, targets = numbers.shape
    return tuple(int(chance.integers(most)) for most in (ranks, steps, targets))  # type: ignore[return-value]


_Changing = Callable[[Numbers, np.random.Generator], str]
_PLACES: tuple[_Changing, ...] = (
    _number,
    _norm,
    _not_finite,
    _not_measured,
    _lost_step,
    _lost_target,
    _lost_rank,
)
# Where runs are off by noise, numbers beside the norms are not judged, and the claim says "norms".
_BEYOND_NOISE = tuple(change for change in _PLACES if change is not _number)
