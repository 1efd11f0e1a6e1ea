"""Ctrl-C and SIGTERM, which batch systems send: both end a build, neither in the middle of a fork.

An interrupt that lands there is either lost in a callback of the fork or leaves a process running
that nobody knows of.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# What a person and what a batch system stops a program with.
_STOPS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Put off both signals until the block is left; other threads have none to hold.

    One that nobody handles in Python is left as it is.
    """
    handled = [number for number in _STOPS if callable(signal.getsignal(number))]
    if threading.current_thread() is not threading.main_thread() or not handled:
        yield
        return
    caught: list[int] = []
    former = {
        number: signal.signal(number, lambda number, _frame: caught.append(number))
        for number in handled
    }
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    if caught:
        signal.raise_signal(caught[0])


@contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM as on Ctrl-C: what is unfinished is removed either way.

    For programs, in their main thread.
    """
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def leave_interrupts_to_parent() -> None:
    """In a forked process: Ctrl-C reaches all, but the first process ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
