"""Ends a process with the one that started it, whatever ends that one: also SIGKILL, out of memory.

A pipe that nobody writes to: its writing end closes with the process that holds it.
"""

from __future__ import annotations

import os
import threading
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext


class Lifeline:
    """Made before a process is started, given to it as an argument, and held while it may run.

    Processes that are forked later inherit the writing end of earlier lines. That does no harm:
    the last one hangs on this process alone, and each that ends lets go of those before it.
    """

    def __init__(self, context: BaseContext) -> None:
        self._watched, self._held = context.Pipe(duplex=False)

    def follow(self) -> None:
        """In the started process: end when the other one does."""
        self._held.close()
        threading.Thread(target=_end_with, args=(self._watched,), daemon=True).start()

    def started(self) -> None:
        """In the process that started the other: leave the watching to it."""
        self._watched.close()

    def release(self) -> None:
        """Let go of a process that has ended."""
        self._held.close()


def _end_with(watched: Connection) -> None:
    watched.poll(None)
    os._exit(1)
