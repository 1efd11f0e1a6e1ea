"""Lets the function mode see the calls of other threads: torch has a stack of modes for each.

A thread that begins while recording is on enters the mode for its life, a pool's worker for
each piece of work. Between `start` and `stop` the places where Python runs both are wrapped.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import thread as pools
from typing import Any

from msprobe_core.capture.replacing import Replacements
from msprobe_core.torch.watch.calls import CallMode

_BEGINNINGS: tuple[tuple[type | None, str], ...] = (
    (threading.Thread, "_bootstrap_inner"),  # `run` is what users override
    (getattr(pools, "_WorkItem", None), "run"),
)


class OtherThreads:
    """Enters the mode in threads other than the one that has started the recording."""

    def __init__(self, mode: CallMode) -> None:
        self._mode = mode
        self._replaced = Replacements()

    def start(self) -> None:
        """Wrap what runs a thread, where this version of Python has it."""
        if self._replaced:
            return
        for owner, name in _BEGINNINGS:
            original = getattr(owner, name, None)
            if original is not None:
                self._replaced.put(owner, name, self._recorded(original))

    def stop(self) -> None:
        """Put the originals back. A thread that goes on leaves the mode with its next call."""
        self._replaced.restore()

    def _recorded(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def run(*args: Any, **kwargs: Any) -> Any:
            entered = self._mode.enter_again()
            try:
                return original(*args, **kwargs)
            finally:
                if entered:
                    self._mode.leave()

        return run
