"""The functions that stand where users find MindSpore's while a step is recorded.

There are some 1,400 of them, and making them costs more than putting them in their places: they are
made once for a process and hand each call to whoever records at that time.
"""

from __future__ import annotations

import functools
from typing import Any, Protocol

from msprobe_core.capture.replacing import Function
from msprobe_core.mindspore.function_spaces import Space


class Recording(Protocol):
    """Whoever records calls."""

    def call(self, owner: str, run: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function as a recorded call."""


class StandIns:
    """Stand-ins that hand calls to `recording`; without one they run what they stand for.

    A stand-in belongs to one original: where others have put another function there, it gets a new
    one.
    """

    def __init__(self) -> None:
        self.recording: Recording | None = None
        self._made: dict[str, tuple[Function, Function]] = {}

    def of(self, space: Space, name: str) -> tuple[Function, Function]:
        """The function of that name, and what stands in for it."""
        owner = f"{space.prefix}.{name}"
        original: Function = getattr(space.owner, name)
        known = self._made.get(owner)
        if known is None or known[0] is not original:
            known = self._made[owner] = original, self._stand_in(owner, original)
        return known

    def _stand_in(self, owner: str, original: Function) -> Function:
        def watched(*args: Any, **kwargs: Any) -> Any:
            recording = self.recording
            if recording is None:
                return original(*args, **kwargs)
            return recording.call(owner, original, args, kwargs)

        return like(original, watched)


SHARED = StandIns()
"""Those of the recording that there is; a second one beside it makes its own."""


def like(original: Function, watched: Function) -> Function:
    """What stands in for a function, under its name and with its documentation."""
    try:
        return functools.wraps(original)(watched)
    except (AttributeError, TypeError):  # of a descriptor written in C
        return watched
