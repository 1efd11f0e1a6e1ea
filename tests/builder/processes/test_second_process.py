"""Work in a second process: its result, its error, its death, and its end with the block."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from builder.processes.second_process import CAN_FORK, BesideError, beside

needs_fork = pytest.mark.skipif(not CAN_FORK, reason="no safe fork here")


@pytest.mark.parametrize("fork", [False, pytest.param(True, marks=needs_fork)])
def test_the_result_arrives(fork: bool) -> None:
    with beside(lambda: 6 * 7, fork=fork) as result:
        assert result() == 42


@pytest.mark.parametrize("fork", [False, pytest.param(True, marks=needs_fork)])
def test_an_error_is_raised_where_the_result_is_waited_for(fork: bool) -> None:
    def fail() -> None:
        raise ValueError("told")

    with beside(fail, fork=fork) as result, pytest.raises(ValueError, match="told"):
        result()


@needs_fork
def test_it_runs_in_another_process() -> None:
    with beside(os.getpid) as result:
        assert result() != os.getpid()


@needs_fork
def test_a_killed_process_is_an_error_and_no_hang() -> None:
    with (
        beside(lambda: os.kill(os.getpid(), signal.SIGKILL)) as result,
        pytest.raises(BesideError, match="-9"),
    ):
        result()


@needs_fork
def test_a_process_that_nobody_waits_for_ends_with_the_block(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def linger() -> None:
        (tmp_path / "new").write_text(str(os.getpid()))
        (tmp_path / "new").rename(note)
        time.sleep(60)

    with pytest.raises(KeyError), beside(linger):
        while not note.exists():
            time.sleep(0.01)
        raise KeyError
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


@needs_fork
def test_a_process_ends_with_the_one_beside_it_however_that_ends(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def first() -> None:
        def second() -> None:
            note.write_text(str(os.getpid()))
            time.sleep(600)

        with beside(second):
            time.sleep(600)

    worker = multiprocessing.get_context("fork").Process(target=first)
    worker.start()
    _until(lambda: note.is_file() and note.read_text() != "")
    second_process = int(note.read_text())
    assert _runs(second_process)
    worker.kill()  # it has no chance to end the other
    worker.join()
    _until(lambda: not _runs(second_process))


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "did not come true within a minute"
        time.sleep(0.01)


def _runs(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
