"""Reads local variables of a running function and leaves none of them alive.

Up to Python 3.12 reading `f_locals` puts a copy of all locals into the frame, which keeps them
until the function returns: the loss of every step with its graph, in a training loop.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from inspect import CO_OPTIMIZED
from types import FrameType

_COPIES = sys.version_info < (3, 13)
_OURS = 4  # who holds the copy: the frame, the reader, its argument here, and that of getrefcount


def local_of(frame: FrameType, name: str, default: object = None) -> object:
    """A local variable of a frame."""
    found = frame.f_locals
    value = found.get(name, default)
    _let_go(frame, found)
    return value


def names_of(frame: FrameType, value: object) -> list[str]:
    """The local variables of a frame that are an object."""
    found = frame.f_locals
    names = [name for name, each in found.items() if each is value]
    _let_go(frame, found)
    return names


def _let_go(frame: FrameType, found: Mapping[str, object]) -> None:
    """Empty the copy, unless others hold it: a debugger, or who called `locals()`.

    The locals of modules and classes are no copy.
    """
    is_copy = _COPIES and frame.f_code.co_flags & CO_OPTIMIZED
    if is_copy and isinstance(found, dict) and sys.getrefcount(found) <= _OURS:
        found.clear()
