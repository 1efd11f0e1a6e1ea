"""What a dump has lost is said by every command that reads it, and none of them ends with 0."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.all_clears.recorded import recorded_run, write_run
from tests.msprobe.conftest import Run

LOST = "step0/rank1"


def _gone(rank: Path) -> None:
    shutil.rmtree(rank)


def _without_values(rank: Path) -> None:
    (rank / "dump.json").unlink()


def _cut(rank: Path) -> None:
    text = (rank / "dump.json").read_text()
    (rank / "dump.json").write_text(text[: len(text) // 2])


def _empty(rank: Path) -> None:
    (rank / "dump.json").write_text("")


def _another(rank: Path) -> None:
    rank.rename(rank.with_name("rank7"))


def _other_form(rank: Path) -> None:
    (rank / "dump.json").write_text('{"task": "statistics", "data": []}')


LOSSES: tuple[Callable[[Path], None], ...] = (
    *(_gone, _without_values, _cut),
    *(_empty, _another, _other_form),
)


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Two equal runs of two steps and two ranks."""
    files = recorded_run("statistics")
    for name in ("problem", "benchmark"):
        write_run(files, tmp_path / name)
    return tmp_path / "problem", tmp_path / "benchmark"


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__[1:])
@pytest.mark.parametrize("side", [0, 1], ids=["problem", "benchmark"])
def test_two_runs_of_which_one_has_lost_a_rank_are_no_all_clear(
    run: Run, sides: tuple[Path, Path], tmp_path: Path, loss: Callable[[Path], None], side: int
) -> None:
    loss(sides[side] / LOST)
    given = ("-tp", sides[0], "-gp", sides[1], "-o", tmp_path / "out")
    built, tables = run("graph_visualize", *given), run("compare", *given)
    (file,) = (tmp_path / "out").glob("*.vis.db")
    for answer in (built, tables, run("diagnose", file)):
        # Where a run has more ranks than the other, tables refuse both.
        assert answer.code == 3 or (answer is tables and "equally many ranks" in answer.err)
        assert answer is tables or "rank1" in answer.out or "rank 1" in answer.out
        assert "nothing differs" not in answer.out


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__[1:])
@pytest.mark.parametrize("step", ["step0", "step1"])
def test_one_run_that_has_lost_a_rank_is_not_called_sound(
    run: Run, sides: tuple[Path, Path], tmp_path: Path, loss: Callable[[Path], None], step: str
) -> None:
    loss(sides[0] / step / "rank1")
    looked = [run("check", sides[0])]
    if loss not in (_gone, _another):  # of a run alone nobody knows how many ranks it had
        looked.append(run("overflow_check", "-i", sides[0], "-o", tmp_path / "out"))
    for answer in looked:
        assert answer.code not in (0, 4), answer
        told = answer.out + answer.err
        assert "rank1" in told or "rank 1" in told or step in told or step[-1:] in told
