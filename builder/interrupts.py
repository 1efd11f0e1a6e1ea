"""Holds Ctrl-C off for the moment in which a process is forked.

An interrupt that lands there is either lost in a callback of the fork or leaves a process running
that nobody knows of.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Put off KeyboardInterrupt until the block is left; in other threads there is none to hold."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    former = signal.signal(signal.SIGINT, lambda number, _frame: caught.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if former is None else former)
    if caught:
        signal.raise_signal(signal.SIGINT)
