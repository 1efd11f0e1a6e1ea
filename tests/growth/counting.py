"""Counts the work of the project's functions: steps of loops, and what calls have to look at.

The sources are rewritten as they are imported: each loop and comprehension counts its steps, and
what leaves the project (`sorted`, `set`, numpy, a method of a list) counts as many as it has to
look at. So a loop in C is seen like one in Python, and the count is the same on every machine.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import itertools
import operator
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from tests.growth.costs import cost, is_ours, size
from tests.growth.rewriting import rewritten

PACKAGES = ("builder", "msprobe_core", "msprobe", "tb_graph_ascend")
_LAZY = {kind for kind in vars(itertools).values() if isinstance(kind, type)}
_LAZY |= {map, zip, filter, enumerate, reversed}

work: Counter[str] = Counter()
"""What each function has done since this was cleared, by `module:function`."""


def count_imports() -> None:
    """Let all that is imported of the project from now on count its work."""
    known = [name for name in sys.modules if name.split(".")[0] in PACKAGES]
    if known:
        raise RuntimeError(f"{known[0]}: imported before its work could be counted")
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.split(".")[0] not in PACKAGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        tree = rewritten(self.get_source(fullname) or "", fullname)
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(COUNTERS)
        super().exec_module(module)


def called(place: str, function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    """What a call returns; one that leaves the project counts what it has to look at."""
    if is_ours(function):
        work[place] += 1
        return function(*args, **named)
    result = function(*args, **named)
    if type(result) in _LAZY:
        return each(place, result)
    work[place] += cost(function, args, named, result)
    return result


def each(place: str, items: Iterable[Any]) -> Iterator[Any]:
    """The items, each counted as it is taken."""
    for item in items:
        work[place] += 1
        yield item


def stepped(place: str) -> None:
    """One step of a loop."""
    work[place] += 1


def sized(place: str, value: Any) -> Any:
    """A value of which all members are taken."""
    work[place] += size(value)
    return value


def operated(place: str, name: str, *values: Any) -> Any:
    """What an operator makes of values, all members of which it looks at."""
    result = _OPERATORS[name](*values)
    work[place] += sum(map(size, values))
    return result


def item(place: str, value: Any, index: Any) -> Any:
    """A member of a value; a part is copied, but for a plain slice of an array."""
    result = value[index]
    if isinstance(value, np.ndarray):
        view = isinstance(result, np.ndarray) and result.base is not None
        work[place] += 0 if view and np.may_share_memory(result, value) else size(index)
    elif type(index) is slice:
        work[place] += size(result)
    return result


def contained(place: str, one: Any, members: Any) -> bool:
    """Whether members have one; a list or an array is looked through."""
    if isinstance(members, list | tuple | np.ndarray):
        work[place] += size(members)
    return one in members


_OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "BitAnd": operator.and_,
    "MatMult": operator.matmul,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Invert": operator.invert,
}
COUNTERS: dict[str, Callable[..., Any]] = {
    "_growth_call": called,
    "_growth_each": each,
    "_growth_step": stepped,
    "_growth_sized": sized,
    "_growth_op": operated,
    "_growth_item": item,
    "_growth_in": contained,
}
