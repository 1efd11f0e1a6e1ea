"""Torch's stack of function modes: where one of them stands, and how it leaves.

Every thread has a stack of its own, and torch lets only the topmost mode go.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections import deque
from types import FrameType

from torch._C import _get_function_stack_at, _len_torch_function_stack
from torch.overrides import _pop_mode, _push_mode


def modes_of_thread() -> list[object]:
    """The modes of this thread, the outermost first."""
    return [_get_function_stack_at(n) for n in range(_len_torch_function_stack())]


def take_off(mode: object) -> int | None:
    """Take a mode off this thread's stack; how many stood above it, None where it was not on."""
    modes = modes_of_thread()
    at = next((n for n in reversed(range(len(modes))) if modes[n] is mode), None)
    if at is None:
        return None
    above = len(modes) - 1 - at
    others = [_pop_mode() for _ in range(above)]
    _pop_mode()
    for other in reversed(others):
        _push_mode(other)
    return above


def insert(mode: object, above: int) -> None:
    """Put a mode on this thread's stack below the `above` topmost ones."""
    others = [_pop_mode() for _ in range(min(above, _len_torch_function_stack()))]
    _push_mode(mode)
    for other in reversed(others):
        _push_mode(other)


def take_off_later(mode: object, thread: int) -> None:
    """Have the main thread take a mode off before its next instruction.

    Another thread does it with its next call of torch (`take_off_after_this_call`).
    """
    if thread == threading.main_thread().ident:
        _ended.append(mode)
        ctypes.pythonapi.Py_AddPendingCall(_TAKE_OFF, None)


def take_off_after_this_call(mode: object) -> None:
    """Take a mode off that is handling a call: torch puts it back once more when that returns.

    What tells of the moment after is a profiler of this thread's, for so long; where the user has
    one of his own, the mode stays on and hands calls on.
    """
    if sys.getprofile() is not None:
        return
    handling = sys._getframe(1)

    def after(frame: FrameType, _event: str, _what: object) -> None:
        if frame is handling:
            return
        if take_off(mode) is not None:
            sys.setprofile(None)

    sys.setprofile(after)


_ended: deque[object] = deque()


def _take_off_ended(_: object) -> int:
    while _ended:
        take_off(_ended.popleft())
    return 0


# Held for ever: the interpreter calls it by its address.
_TAKE_OFF = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_take_off_ended)
