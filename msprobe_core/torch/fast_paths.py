"""Lets code choose its way as without a recording where it asks whether anything overrides torch.

Torch's transformer modules take a fast path only where nothing does, and a mode of ours would be
something; the slow path gives other numbers, in rows of padding wholly other ones.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode

from msprobe_core.capture.replacing import Replacements
from msprobe_core.torch.function_modes import modes_of_thread

Question = Callable[..., bool]


class OwnMode(TorchFunctionMode):
    """A mode of ours: nobody chooses another way because it stands."""


class FastPaths:
    """From `start` to `stop`, no answer tells of our modes but to who calls them in."""

    _standing = 0
    _lock = threading.Lock()
    _replaced = Replacements()

    def __init__(self) -> None:
        self._is_on = False

    def start(self) -> None:
        """Replace the questions, if nobody else of ours has."""
        if self._is_on:
            return
        self._is_on = True
        with FastPaths._lock:
            FastPaths._standing += 1
            if FastPaths._standing == 1:
                for name, asked in _QUESTIONS.items():
                    FastPaths._replaced.put(torch.overrides, name, asked)

    def stop(self) -> None:
        """Put torch's own back when the last of ours has gone."""
        if not self._is_on:
            return
        self._is_on = False
        with FastPaths._lock:
            FastPaths._standing -= 1
            if not FastPaths._standing:
                FastPaths._replaced.restore()


def _asked(original: Question) -> Question:
    @functools.wraps(original)
    def asked(*args: Any) -> bool:
        answer = original(*args)
        if torch.compiler.is_compiling() or not answer or _calls_in(sys._getframe(1).f_code):
            return answer
        return _without_own_modes(original, args)

    torch.jit._builtins._register_builtin(asked, "aten::has_torch_function")
    return asked


def _calls_in(code: CodeType) -> bool:
    """Whether code asks in order to have the overrides run, as all functions of torch do."""
    return "handle_torch_function" in code.co_names


def _without_own_modes(original: Question, args: tuple[Any, ...]) -> bool:
    modes: list[Any] = modes_of_thread()
    users = [mode for mode in modes if not isinstance(mode, OwnMode)]
    if len(users) == len(modes):
        return True
    _put_in_place(users)
    try:
        return original(*args)
    finally:
        _put_in_place(modes)


def _put_in_place(modes: list[Any]) -> None:
    for _ in modes_of_thread():
        _pop_mode()
    for mode in modes:
        _push_mode(mode)


_QUESTIONS = {
    name: _asked(getattr(torch.overrides, name))
    for name in (
        "has_torch_function",
        "has_torch_function_unary",
        "has_torch_function_variadic",
    )
}
"""Made once: torch's compiler of scripts knows them by their identity."""
