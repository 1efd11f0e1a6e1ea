"""Work in a second process: its result, its error, its death, and its end with the block."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from builder.parallel import CAN_FORK, BesideError, beside

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
