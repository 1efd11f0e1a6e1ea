"""Tells when autograd begins, and keeps the function mode on while it runs.

Calls that are recomputed are recorded so: torch hands `backward` to the mode with the mode off. The
engine's entry point is wrapped at
`start` and put back at `stop`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from msprobe_core.capture.replacing import Replacements
from msprobe_core.torch.watch.calls import CallMode

_NAME = "_engine_run_backward"


class BackwardRuns:
    """Wraps the engine's entry point for the time of a recording."""

    def __init__(
        self,
        begin: Callable[[Sequence[object], Sequence[object]], None],
        begin_run: Callable[[], Callable[[], None]],
        mode: CallMode | None,
    ) -> None:
        self._begin, self._begin_run, self._mode = begin, begin_run, mode
        self._replaced = Replacements()

    def start(self) -> None:
        """Wrap the entry point, where this version of torch has it."""
        original = getattr(torch.autograd, _NAME, None)
        if original is None or self._replaced:
            return

        @functools.wraps(original)
        def run(*args: Any, **kwargs: Any) -> Any:
            if len(args) > 1:
                self._begin(args[0], args[1])
            end = self._begin_run()
            entered = self._mode is not None and self._mode.enter_again()
            try:
                return original(*args, **kwargs)
            finally:
                if entered and self._mode is not None:
                    self._mode.leave()
                end()

        self._replaced.put(torch.autograd, _NAME, run)

    def stop(self) -> None:
        """Put the original back."""
        self._replaced.restore()
