"""Steps aside where MindSpore compiles: a graph must not contain what watches the run.

What is compiled stands as one call, `Jit.<function or class of the cell>`, with its inputs, outputs
and gradients.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from msprobe_core.capture.replacing import Replacements
from msprobe_core.mindspore.watch.cells import OPTIMIZERS
from msprobe_core.mindspore.watch.functions import FunctionWatch

try:  # from 2.9 on
    from mindspore.graph.api import _JitExecutor
except ImportError:
    from mindspore.common.api import _JitExecutor  # 2.7.1, 2.8


class CompiledCode:
    """Calls `pause` before compiled code runs and `resume` after it; `calls` records the border."""

    def __init__(
        self, pause: Callable[[], None], resume: Callable[[], None], calls: FunctionWatch | None
    ) -> None:
        self._pause, self._resume, self._calls = pause, resume, calls
        self._replaced = Replacements()
        self._lock, self._inside = threading.Lock(), 0

    def start(self) -> None:
        """Watch for compiled code from here on."""
        if not self._replaced:
            self._replaced.put(_JitExecutor, "__call__", self._watched(_JitExecutor.__call__))

    def stop(self) -> None:
        """Leave MindSpore as it was."""
        self._replaced.restore()

    def _watched(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(executor: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - torch asks for this name
            run = functools.partial(self._aside, inner, executor)
            if self._calls is None or isinstance(executor.obj, OPTIMIZERS):
                return run(*args, **kwargs)
            return self._calls.call(f"Jit.{_name_of(executor)}", run, args, kwargs)

        return __call__

    def _aside(self, inner: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._pause()
        try:
            return inner(*args, **kwargs)
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._resume()


def _name_of(executor: Any) -> str:
    """The name of the function, or the class of the cell whose method it is."""
    owner = executor.obj
    if owner is not None:
        return type(owner).__name__
    return str(getattr(executor.fn, "__name__", "function"))
