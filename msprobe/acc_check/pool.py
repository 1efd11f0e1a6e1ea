"""Processes that check calls side by side, each surviving many calls.

A process that dies or hangs over a call costs that call, which becomes a row; another process
takes its place. Invariant: every call that is handed in comes back as exactly one row.
"""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait

from builder.errors import InputError
from builder.processes.own_imports import own_imports
from msprobe.acc_check.plan import Call
from msprobe.acc_check.rows import BLANK, CallRow
from msprobe.acc_check.worker import Ready, Refused, Setup, work

Work = Callable[[Connection, int, Setup], None]
_START_SECONDS = 300.0
_CONTEXT = get_context("spawn")  # a forked process cannot use an accelerator of its parent


class Pool:
    """`processes` workers; `seconds` is how long one call may take.

    `target` is what a process does.
    """

    def __init__(self, setup: Setup, processes: int, seconds: float, target: Work = work) -> None:
        self._seconds = seconds
        self._workers = [_Worker(number, setup, target) for number in range(processes)]

    @property
    def pair(self) -> str:
        """What is compared, as the first worker says; waits for all and raises InputError."""
        first, *_ = (worker.wait_until_ready() for worker in self._workers)
        return first

    def rows(self, calls: Sequence[Call]) -> Iterator[CallRow]:
        """One row per call, in the order in which they are done."""
        left, done = deque(calls), 0
        while done < len(calls):
            for worker in self._workers:
                if worker.is_free and left:
                    worker.give(left.popleft(), self._seconds)
            for row in self._finished():
                done += 1
                yield row

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.end()

    def _finished(self) -> Iterator[CallRow]:
        busy = {worker.connection: worker for worker in self._workers if worker.call is not None}
        now = time.monotonic()
        patience = min((worker.deadline - now for worker in busy.values()), default=0.0)
        for connection in wait(list(busy), max(patience, 0.0)):
            assert isinstance(connection, Connection)
            row = busy.pop(connection).answer()
            if row is not None:
                yield row
        for worker in busy.values():
            if time.monotonic() > worker.deadline:
                yield worker.give_up(self._seconds)


class _Worker:
    """One process at a time; `call` is what it works on and `deadline` when that must be done."""

    def __init__(self, number: int, setup: Setup, target: Work) -> None:
        self._number = number
        self._setup = setup
        self._target = target
        self.call: Call | None = None
        self.deadline = 0.0
        self._start()

    @property
    def is_free(self) -> bool:
        return self.call is None

    def wait_until_ready(self) -> str:
        """The pair that the process compares."""
        if self._pair is None:
            if not self.connection.poll(_START_SECONDS):
                raise InputError("a worker did not start", "run again with fewer processes (-n)")
            self._greeted(self._received())
        assert self._pair is not None
        return self._pair

    def give(self, call: Call, seconds: float) -> None:
        """Hand over a call."""
        self.wait_until_ready()
        self.call = call
        self.deadline = time.monotonic() + seconds
        try:
            self.connection.send(call)
        except OSError:
            self._start()  # it died between two calls, of none of them
            self.give(call, seconds)

    def answer(self) -> CallRow | None:
        """The row of the call that was being worked on."""
        assert self.call is not None
        name, self.call = self.call.name, None
        received = self._received()
        if isinstance(received, CallRow):
            return received
        said = _ending(self._process.exitcode)
        self._start()
        return CallRow(name, "error", BLANK, f"the process {said} while it ran this call")

    def give_up(self, seconds: float) -> CallRow:
        """End a process that hangs."""
        assert self.call is not None
        name, self.call = self.call.name, None
        self.end()
        self._start()
        said = f"not done after {seconds:g} s; its process was ended (--timeout allows more)"
        return CallRow(name, "error", BLANK, said)

    def end(self) -> None:
        self.connection.close()
        self._process.kill()
        self._process.join()

    def _start(self) -> None:
        self.connection, theirs = _CONTEXT.Pipe()
        self._pair: str | None = None
        self._process = _CONTEXT.Process(
            target=self._target, args=(theirs, self._number, self._setup), daemon=True
        )
        with own_imports():
            self._process.start()
        theirs.close()

    def _received(self) -> object:
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self._process.join()
            return None

    def _greeted(self, greeting: object) -> None:
        if isinstance(greeting, Ready):
            self._pair = greeting.pair
        elif isinstance(greeting, Refused):
            raise InputError(greeting.reason, greeting.hint)
        else:
            said = _ending(self._process.exitcode)
            raise InputError(f"a worker {said} while it started", "run again with --device cpu")


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"died of {signal.Signals(-code).name}"
    return f"ended with code {code}"
