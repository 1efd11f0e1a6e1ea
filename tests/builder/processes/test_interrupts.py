"""Ctrl-C and SIGTERM while a process is forked: late, never lost."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from builder.processes.interrupts import interrupts_held, stopped_by_sigterm


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_arrives_when_the_block_is_left(stop: signal.Signals) -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), stopped_by_sigterm():  # noqa: SIM117
        with interrupts_held():
            os.kill(os.getpid(), stop)
            reached = True
    assert reached


def test_handler_is_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupts_held():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_sigterm_that_nobody_handles_still_ends_a_process() -> None:
    former = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with interrupts_held():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, former)


def test_other_threads_have_nothing_to_hold() -> None:
    entered: list[bool] = []

    def work() -> None:
        with interrupts_held():
            entered.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [True]
