"""Lets torch swap tensors, as it does where a model of wrapped parameters is converted.

Torch refuses a tensor that something refers to weakly, and the book of a step refers to each that
it has seen.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from msprobe_core.capture.replacing import Replacements
from msprobe_core.capture.trace import Trace


class SwappedTensors:
    """Forgets two tensors before they are swapped; from the start of a step to its end."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._replaced = Replacements()

    def start(self) -> None:
        """Wrap the function, where this version of torch has it."""
        original = getattr(torch.utils, "swap_tensors", None)
        if original is None or self._replaced:
            return

        @functools.wraps(original)
        def swap(one: Any, other: Any) -> Any:  # noqa: ANN401
            for tensor in (one, other):
                self._trace.safely("a tensor that is swapped", self._trace.book.let_go, tensor)
            return original(one, other)

        self._replaced.put(torch.utils, "swap_tensors", swap)

    def stop(self) -> None:
        """Put the original back."""
        self._replaced.restore()
