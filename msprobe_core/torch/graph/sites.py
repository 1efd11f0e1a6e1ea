"""Who a row belongs to: modules and calls have numbers, which a graph holds in place of names."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import FrameType

import torch
from torch._guards import TracingContext

from msprobe_core.capture.stacks import StackBook

STACKS = StackBook()
"""The stacks of all graphs of the process; a graph holds their numbers."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A module by its path and class, or a call of torch's API by its name (`path` is None)."""

    path: str | None
    kind: str
    stack: int = -1


OWNERS: list[Owner] = []
_NUMBERS: dict[Owner, int] = {}


def number_of(owner: Owner) -> int:
    """The number of an owner; graphs keep it, so it is never given to another."""
    number = _NUMBERS.setdefault(owner, len(OWNERS))
    if number == len(OWNERS):
        OWNERS.append(owner)
    return number


def stack_of_frames() -> int:
    """The number of the stack of the user's code that runs now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_own(frame.f_globals.get("__name__")):
        frame = frame.f_back
    return STACKS.capture(frame, None, -1)


def stack_of_trace() -> int:
    """The number of the stack of the user's code that dynamo traces now, -1 where it has none.

    It reaches from the call of the compiled function to here.
    """
    if TracingContext.try_get() is None:
        return -1
    frames = [each for each in TracingContext.extract_stack() if not is_own_file(each.filename)]
    lines = (f"File {f.filename}, line {f.lineno}, in {f.name}, \n {f.line}" for f in frames[::-1])
    return STACKS.add_text(tuple(lines))


def is_tracing() -> bool:
    """Whether a compiler runs a graph with tensors that have no elements."""
    return TracingContext.try_get() is not None or torch._guards.detect_fake_mode() is not None


_OWN = ("msprobe_core", "msprobe")


def _is_own(name: object) -> bool:
    return str(name).partition(".")[0] in _OWN


def is_own_file(path: str) -> bool:
    """Whether a file belongs to this package."""
    return path.startswith(_HERE)


_HERE = __file__.rpartition("msprobe_core")[0] + "msprobe_core"
