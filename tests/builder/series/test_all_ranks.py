"""Two trainings are compared on every rank, and what one of them alone has is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from builder.series.all_ranks import Compared, compare_all
from builder.series.run import TrendRun
from tests.builder.series.stores import write_steps

STEPS, RANKS, FAULT = 40, 3, 20
Numbers = NDArray[np.float64]


def _numbers(rank: int) -> Numbers:
    """[step][target] of a rank, each its own."""
    return np.random.default_rng(rank).uniform(0.5, 2.0, (STEPS, 4))


def _compared(folder: Path, ours: dict[int, Numbers], theirs: dict[int, Numbers]) -> Compared:
    for side, ranks in (("ours", ours), ("theirs", theirs)):
        for rank, numbers in ranks.items():
            there = ~np.isnan(numbers[:, 0])
            write_steps(folder / side, numbers[there], np.flatnonzero(there), rank=rank)
    return compare_all(TrendRun(folder / "ours"), TrendRun(folder / "theirs"))


def _run() -> dict[int, Numbers]:
    return {rank: _numbers(rank) for rank in range(RANKS)}


@pytest.mark.parametrize("rank", range(RANKS))
@pytest.mark.parametrize("target", [0, 3])
@pytest.mark.parametrize("factor", [5.0, 1 + 1e-5, np.inf])
def test_a_rank_that_parts_is_named(rank: int, target: int, factor: float, tmp_path: Path) -> None:
    wrong = _run()
    wrong[rank][FAULT:, target] *= factor
    found = _compared(tmp_path, wrong, _run())
    assert (found.divergence.verdict, found.divergence.step) == ("parts", FAULT)
    assert (found.rank, found.divergence.target) == (rank, ("grad", f"layers.{target}.weight"))
    assert not found.claim.is_clear


def test_the_first_of_two_ranks_that_part_is_named(tmp_path: Path) -> None:
    wrong = _run()
    wrong[1][FAULT:] *= 2
    wrong[2][FAULT - 1 :, 1] *= 2
    found = _compared(tmp_path, wrong, _run())
    assert (found.rank, found.divergence.step) == (2, FAULT - 1)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("kept", [[0, 1], [0, 2], [1, 2]])
def test_a_rank_of_one_run_alone_is_told(kept: list[int], swapped: bool, tmp_path: Path) -> None:
    whole, part = _run(), {rank: _numbers(rank) for rank in kept}
    sides = (part, whole) if swapped else (whole, part)
    claim = _compared(tmp_path, *sides).claim
    assert not claim.is_clear


@pytest.mark.parametrize("rank", range(RANKS))
def test_a_step_that_one_rank_did_not_write_is_told(rank: int, tmp_path: Path) -> None:
    wrong = _run()
    wrong[rank][FAULT] = np.nan
    claim = _compared(tmp_path, wrong, _run()).claim
    assert not claim.is_clear
    assert {gap.code for gap in claim.evidence.gaps} >= {"only_steps"}


def test_equal_runs_are_equal_on_all_ranks(tmp_path: Path) -> None:
    found = _compared(tmp_path, _run(), _run())
    assert found.claim.is_clear
    assert found.evidence.count() == RANKS * STEPS * 4
