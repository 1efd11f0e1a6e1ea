"""Has torch script, trace and export a model as it is without a recording.

What it makes then are programs that the user keeps. Our hooks would stand in them, or be refused,
and what runs to make one is no run of the model.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from torch._guards import TracingContext

from msprobe_core.capture.replacing import Replacements

_MAKERS = (
    ("torch.jit._script", "_script_impl"),
    ("torch.jit._trace", "_trace_impl"),
    ("torch.jit._trace", "trace_module"),
    ("torch.jit", "trace_module"),
    ("torch.export._trace", "_export"),
    ("torch.export._trace", "_strict_export"),
    ("torch.export._trace", "_non_strict_export"),
    ("torch.fx._symbolic_trace", "Tracer.trace"),
    ("torch.cuda.graphs", "make_graphed_callables"),
    ("torch.cuda", "make_graphed_callables"),
)
"""What all ways to make a program go through, under whatever name they were imported."""


class CapturedPrograms:
    """Calls `begin` before torch makes a program and `end` after it, from `start` to `stop`."""

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._begin, self._end = begin, end
        self._replaced = Replacements()
        self._is_inside = False

    def start(self) -> None:
        """Watch what makes programs."""
        for place, path in () if self._replaced else _MAKERS:
            owner = _loaded(place)
            *outer, name = path.split(".")
            for part in outer:
                owner = getattr(owner, part, None)
            if hasattr(owner, name):
                self._replaced.put(owner, name, self._making(getattr(owner, name)))

    def stop(self) -> None:
        """Put the originals back."""
        self._replaced.restore()

    def _making(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def make(*args: Any, **kwargs: Any) -> Any:
            # Compilers trace what dynamo has traced before, with our operators in it.
            if self._is_inside or TracingContext.try_get() is not None:
                return original(*args, **kwargs)
            self._is_inside = True
            self._begin()
            try:
                return original(*args, **kwargs)
            finally:
                self._is_inside = False
                self._end()

        return make


def _loaded(place: str) -> Any:
    try:
        return importlib.import_module(place)
    except ImportError:  # another version of torch
        return None
