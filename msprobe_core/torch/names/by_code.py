"""Keeps what was found out about a code object, by its identity.

Python calls two code objects equal when all but their files agree, and one whose constants cannot
be hashed, as the compiler of torch makes them, cannot be a key at all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import CodeType
from typing import Concatenate, ParamSpec, TypeVar

_Rest = ParamSpec("_Rest")
_Result = TypeVar("_Result")
_MOST = 16_384  # a run that makes code all the time begins anew


def kept_by_code(
    find: Callable[Concatenate[CodeType, _Rest], _Result],
) -> Callable[Concatenate[CodeType, _Rest], _Result]:
    """Ask a function of a code object and hashable positional arguments once for each of them."""
    # The code is held beside what was found, so that no other can take its identity.
    known: dict[tuple[object, ...], tuple[CodeType, _Result]] = {}

    def ask(code: CodeType, /, *args: _Rest.args, **kwargs: _Rest.kwargs) -> _Result:
        key = (id(code), *args)
        held = known.get(key)
        if held is None:
            if len(known) >= _MOST:
                known.clear()
            held = known[key] = code, find(code, *args, **kwargs)
        return held[1]

    update_wrapper(ask, find)
    return ask
