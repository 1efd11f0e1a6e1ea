"""What a call that leaves the project has to look at: elements of arrays, members of containers.

Each is taken to look at all that it is given, at what it belongs to and at all that it returns,
but for the few that are known to look at less.
"""

from __future__ import annotations

from collections import deque
from collections.abc import ItemsView, KeysView, Mapping, Sequence, ValuesView
from types import FunctionType, MethodType

import numpy as np

_LETTERS = 64  # of a text that are looked at in the time that one member takes
_COUNTED = (list, tuple, dict, set, frozenset, deque, KeysView, ValuesView, ItemsView)
_MARK = "_growth_call"  # in the globals of what counts its own work

# What looks at one member, however many there are.
_ONE = frozenset(
    "len isinstance issubclass getattr setattr hasattr type id hash callable iter next cast replace"
    " field partial append appendleft popleft get setdefault add discard items keys values popitem"
    " clear pop bisect bisect_left bisect_right insort insort_left insort_right heappush heappop"
    " reshape view transpose asarray Thread submit range slice memoryview __setattr__ __new__"
    " __init__ _replace _make move_to_end execute unpack_from".split()
)
# Of numpy's functions, some of which have the names of methods above.
_VIEWS = frozenset(
    "reshape transpose asarray shape ndim size may_share_memory broadcast_to".split()
)
# What looks at its arguments and not at what it changes.
_ARGUMENTS = frozenset("update extend difference_update write writerow".split())
_SMALLER = frozenset(("isdisjoint", "intersection", "intersection_update"))


class _Sizes(dict[type, int]):
    """By type: whether its members (1), elements (2) or letters (3) are counted, or nothing (0)."""

    def __missing__(self, kind: type) -> int:
        self[kind] = found = (
            2
            if issubclass(kind, np.ndarray)
            else 3
            if issubclass(kind, str | bytes | bytearray)
            else int(issubclass(kind, _COUNTED))
        )
        return found


_sizes = _Sizes()


def size(value: object) -> int:
    """How many members or elements a value has; 0 of what is no container."""
    kind = _sizes[type(value)]
    if kind == 0:
        return 0
    if kind == 2:
        return value.size  # type: ignore[attr-defined, no-any-return]
    members = len(value)  # type: ignore[arg-type]
    return members if kind == 1 else members // _LETTERS


def is_ours(function: object) -> bool:
    """Whether a function or class counts its own work."""
    if type(function) is MethodType:
        function = function.__func__
    if type(function) is FunctionType:
        return _MARK in function.__globals__
    # A class has the name of its module, an object that can be called that of its class.
    kind = function if isinstance(function, type) else type(function)
    return kind.__module__.startswith(("builder.", "msprobe", "tb_graph_ascend"))


def _module(function: object) -> str:
    return str(getattr(function, "__module__", ""))


def cost(
    function: object, arguments: Sequence[object], named: Mapping[str, object], result: object
) -> int:
    """What a call that leaves the project has looked at."""
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    of_numpy = type(function) is np.ufunc or _module(function).startswith("numpy")
    if name in (_VIEWS if of_numpy else _ONE):
        # A list moves all that is behind the member that goes.
        moves = name == "pop" and bool(arguments) and type(owner) is list and arguments[0] != -1
        return 1 + (size(owner) if moves else 0)
    given = sum(map(size, arguments)) + (sum(map(size, named.values())) if named else 0)
    if name in _ARGUMENTS:
        return 1 + given
    if name in _SMALLER:
        return 1 + min((size(each) for each in (owner, *arguments)), default=0)
    if name == "searchsorted":
        return 1 + size(arguments[-1 if owner is not None and size(owner) else 1])
    if name == "at":  # of numpy's functions: changes some elements of an array
        return 1 + sum(map(size, arguments[1:]))
    if name == "remove" and isinstance(owner, set):
        return 1
    return 1 + given + size(owner) + size(result)
