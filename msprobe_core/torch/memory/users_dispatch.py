"""Has every byte looked at while a dispatch mode of the user's stands.

Below one, torch counts no version of tensors in a list (`_foreach_mul_`), and by what way the mode
runs the operation is its own affair. Torch's own modes hand on to operators, whose writes are seen.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from msprobe_core.capture.replacing import Replacements
from msprobe_core.torch.memory.memory_trace import MemoryTrace


class UsersDispatch:
    """Tells the book of records when such modes come and go.

    One that stood when recording began is taken to stay: `with` has looked up its end before.
    """

    def __init__(self, trace: MemoryTrace) -> None:
        self._trace = trace
        self._replaced = Replacements()
        self._entered: list[object] = []

    def start(self) -> None:
        """Watch the modes from here on."""
        if self._replaced:
            return
        self._entered = [mode for mode in _get_current_dispatch_mode_stack() if _is_users(mode)]
        if self._entered:
            self._tell()
        put = self._replaced.put
        put(TorchDispatchMode, "__enter__", self._enter(TorchDispatchMode.__enter__))
        put(TorchDispatchMode, "__exit__", self._exit(TorchDispatchMode.__exit__))

    def stop(self) -> None:
        """Put the originals back."""
        self._replaced.restore()
        if self._entered:
            self._entered = []
            self._tell()

    def _enter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def enter(mode: TorchDispatchMode) -> Any:
            if _is_users(mode):
                self._entered.append(mode)
                self._tell()
            return original(mode)

        return enter

    def _exit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def leave(mode: TorchDispatchMode, *raised: Any) -> Any:
            result = original(mode, *raised)
            if any(each is mode for each in self._entered):
                self._entered = [each for each in self._entered if each is not mode]
                self._tell()
            return result

        return leave

    def _tell(self) -> None:
        if not self._trace.closed:
            self._trace.safely(
                "a dispatch mode", self._trace.book.look_closely, bool(self._entered)
            )


def _is_users(mode: object) -> bool:
    return type(mode).__module__.partition(".")[0] != "torch"
