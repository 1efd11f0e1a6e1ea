"""Pairs over processes: none stops the others, whatever becomes of it."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import signal
import struct
from pathlib import Path
from typing import get_args

import pytest

import builder
from builder import BuildOptions
from builder.processes.second_process import CAN_FORK
from builder.run import executor, pair_work
from builder.work.outcome import PairOutcome
from builder.work.pair import Compared, Instructions, PairResult
from builder.work.phases import Phase, PhaseEntered
from builder.work.plan import PairPlan
from tests.builder.dumps import forward, tensor, write_dump

CALL = "Torch.mm.0.forward"


def dump(root: Path, ranks: int) -> Path:
    for rank in range(ranks):
        data = {CALL: forward([tensor()], [tensor()])}
        write_dump(root / "step0" / f"rank{rank}", data, {CALL: None})
    return root


@pytest.mark.skipif(not CAN_FORK, reason="the change to the worker reaches it by forking only")
def test_a_worker_that_is_killed_is_a_failed_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = dump(tmp_path / "p", 3)
    whole = pair_work.work_on

    def work_on(plan: PairPlan, instructions: Instructions, compared: Compared) -> PairResult:
        if plan.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(plan, instructions, compared)

    monkeypatch.setattr(pair_work, "work_on", work_on)
    result = builder.build(ours, ours, tmp_path / "o", BuildOptions(workers=2))
    assert [outcome.rank for outcome in result.failed] == [1]
    assert "killed by signal 9" in str(result.failed[0].error)
    assert {outcome.rank for outcome in result.outcomes if outcome.error is None} == {0, 2}


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_number_of_workers_changes_no_result(tmp_path: Path, workers: int) -> None:
    ours = dump(tmp_path / "p", 3)
    result = builder.build(ours, ours, tmp_path / "o", BuildOptions(workers=workers))
    assert sorted((o.rank, o.matched, o.compared) for o in result.outcomes) == [
        (0, 1, 2),
        (1, 1, 2),
        (2, 1, 2),
    ]


def test_little_memory_runs_the_pairs_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    started = executor._Processes.run
    monkeypatch.setattr(executor, "available_bytes", lambda: 1)
    monkeypatch.setattr(executor._Processes, "run", lambda *a: found.append(a[-1]) or started(*a))
    ours = dump(tmp_path / "p", 3)
    assert len(builder.build(ours, ours, tmp_path / "o").outcomes) == 3
    assert found == ([1] if CAN_FORK else [])


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("daemon", [False, True])
def test_each_pair_tells_its_phases_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, daemon: bool
) -> None:
    # A daemonic process works on its pairs itself.
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", daemon)  # type: ignore[attr-defined]
    ours = dump(tmp_path / "p", 3)
    told: list[PhaseEntered] = []
    options = BuildOptions(workers=workers)
    builder.build(ours, ours, tmp_path / "o", options, phases=told.append)
    assert {one.pairs for one in told} == {3}
    for rank in range(3):
        assert tuple(one.phase for one in told if one.rank == rank) == get_args(Phase)


def test_a_single_graph_is_read_and_written(tmp_path: Path) -> None:
    told: list[PhaseEntered] = []
    builder.build(dump(tmp_path / "p", 1), None, tmp_path / "o", phases=told.append)
    assert [one.phase for one in told] == ["reading", "writing"]


class Half:
    """Work whose process dies on rank 1 in the middle of what it says."""

    def __init__(self, said: bytes) -> None:
        self.said = said

    def attempt(self, plan: PairPlan, cores: int) -> PairOutcome:
        if plan.rank == 1:
            frame = inspect.currentframe()
            assert frame is not None
            assert frame.f_back is not None
            os.write(frame.f_back.f_locals["answer"].fileno(), self.said)
            os.kill(os.getpid(), signal.SIGKILL)
        return PairOutcome(plan.step, plan.rank)

    def lost(self, plan: PairPlan, cause: str) -> PairOutcome:
        return PairOutcome(plan.step, plan.rank, error=cause)


@pytest.mark.skipif(not CAN_FORK, reason="the connection is found in a forked process only")
@pytest.mark.parametrize(
    "said",
    [b"", b"\0\0", struct.pack("!i", 1000) + b"half", struct.pack("!i", 4) + b"\x80\x04.."],
)
def test_a_worker_killed_while_it_speaks_is_a_failed_pair(said: bytes) -> None:
    plans = [PairPlan(0, rank, Path("p"), Path("b"), json_bytes=1) for rank in range(3)]
    outcomes = executor.LocalProcesses(1).run(plans, Half(said), lambda _: None)
    assert [(o.rank, o.error is None) for o in outcomes] == [(0, True), (1, False), (2, True)]
    assert "killed by signal 9" in str(outcomes[1].error)
