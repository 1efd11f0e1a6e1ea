"""The number of workers follows the memory that is there."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from builder.work.memory import affordable_workers, available_bytes, pair_bytes
from builder.work.plan import PairPlan
from tests.builder.dumps import write_dump

GIB = 1 << 30


def pair(folder: Path, rank: int = 0, entries: int = 0) -> PairPlan:
    data = {f"Torch.mm.{i}.forward": {"output": []} for i in range(entries)}
    side = write_dump(folder / str(rank), data)
    return PairPlan(0, rank, side, side)


def test_memory_that_is_unknown_or_ample_limits_nothing(tmp_path: Path) -> None:
    pairs = [pair(tmp_path, rank) for rank in range(4)]
    assert affordable_workers(pairs, 4, None) == 4
    assert affordable_workers(pairs, 4, 64 * GIB) == 4


def test_little_memory_gives_one_worker_at_least(tmp_path: Path) -> None:
    pairs = [pair(tmp_path, rank) for rank in range(4)]
    assert affordable_workers(pairs, 4, 1) == 1
    assert affordable_workers([], 4, 1) == 4


@given(st.integers(0, GIB), st.integers(1, 6))
def test_what_runs_together_fits(available: int, wanted: int) -> None:
    plan = PairPlan(0, 0, Path("nowhere"), Path("nowhere"))
    workers = affordable_workers([plan] * 6, wanted, available)
    assert 1 <= workers <= wanted
    assert workers == 1 or workers * pair_bytes(plan) <= available


def test_a_larger_dump_takes_more(tmp_path: Path) -> None:
    assert pair_bytes(pair(tmp_path, 0, 1000)) > pair_bytes(pair(tmp_path, 1, 10))


def test_the_limit_of_a_container_counts(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("4000\n")
    assert available_bytes(tmp_path) == 1000
    (tmp_path / "memory.max").write_text("max\n")
    machine = available_bytes(tmp_path)
    assert machine is None or machine > 1000
