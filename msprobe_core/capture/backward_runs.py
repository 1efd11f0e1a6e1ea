"""Keeps the function mode on while autograd runs, so that recomputed calls are recorded.

torch hands `backward` to the mode with the mode off; the engine's entry point is wrapped at
`start` and put back at `stop`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from msprobe_core.capture.replacing import Replacements

_NAME = "_engine_run_backward"


class BackwardRuns:
    """Wraps the engine's entry point for the time of a recording."""

    def __init__(self, enter: Callable[[], bool], leave: Callable[[], None]) -> None:
        self._enter, self._leave = enter, leave
        self._replaced = Replacements()

    def start(self) -> None:
        """Wrap the entry point, where this version of torch has it."""
        original = getattr(torch.autograd, _NAME, None)
        if original is None or self._replaced:
            return

        @functools.wraps(original)
        def run(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            if not self._enter():
                return original(*args, **kwargs)
            try:
                return original(*args, **kwargs)
            finally:
                self._leave()

        self._replaced.put(torch.autograd, _NAME, run)

    def stop(self) -> None:
        """Put the original back."""
        self._replaced.restore()
