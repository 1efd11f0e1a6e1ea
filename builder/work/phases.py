"""What is being done with a pair: told by the work on it, heard by whoever runs that work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

Phase = Literal["reading", "matching", "comparing", "diagnosing", "writing"]
"""In the order in which a pair goes through them; a single graph is read and written."""

Hear = Callable[[Phase], None]
_listener: ContextVar[Hear | None] = ContextVar("listener", default=None)


@dataclass(frozen=True, slots=True)
class PhaseEntered:
    """A pair entered a phase; `pairs` are all of its build."""

    step: int
    rank: int
    phase: Phase
    pairs: int


def enter(phase: Phase) -> None:
    """Tell that what follows belongs to a phase; costs nothing where nobody listens."""
    hear = _listener.get()
    if hear is not None:
        hear(phase)


@contextmanager
def heard_by(hear: Hear | None) -> Iterator[None]:
    """Let somebody hear the phases of the work done inside."""
    token = _listener.set(hear)
    try:
        yield
    finally:
        _listener.reset(token)
