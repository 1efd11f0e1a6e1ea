"""Runs a piece of work in a second process while this one goes on."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TypeVar

from builder.processes.interrupts import interrupts_held, leave_interrupts_to_parent
from builder.processes.lifeline import Lifeline

_T = TypeVar("_T")
# A forked process has all data at hand; where there is no safe fork, moving it costs too much.
CAN_FORK = sys.platform == "linux"


class BesideError(RuntimeError):
    """The second process ended without a result."""


@contextmanager
def beside(task: Callable[[], _T], *, fork: bool = CAN_FORK) -> Iterator[Callable[[], _T]]:
    """Run a task in a forked process while the block runs; yields what waits for its result.

    Without `fork` the task runs here when its result is asked for. The waiting raises what the
    task raised, or BesideError when the process was killed; a process that nobody waited for ends
    with the block, and with this process, however that ends.
    """
    if not fork:
        yield task
        return
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    lifeline = Lifeline(context)
    process = context.Process(target=_answer, args=(task, sender, lifeline), daemon=True)
    with interrupts_held():
        process.start()
    sender.close()
    lifeline.started()

    def result() -> _T:
        try:
            outcome, error = receiver.recv()
        except Exception:  # its end, wherever in a message it came: EOF, OSError, half a pickle
            process.join()
            raise BesideError(f"a process ended with code {process.exitcode}") from None
        if error is not None:
            raise error
        return outcome  # type: ignore[no-any-return]  # whatever the work returned

    try:
        yield result
    finally:
        receiver.close()
        process.kill()
        process.join()
        lifeline.release()


def _answer(task: Callable[[], object], answer: Connection, lifeline: Lifeline) -> None:
    leave_interrupts_to_parent()
    lifeline.follow()
    try:
        answer.send((task(), None))
    except Exception as error:  # whatever it is, it is raised where the result is waited for
        answer.send((None, error))
    answer.close()
