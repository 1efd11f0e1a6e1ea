"""Functions of torch that somebody has replaced: which one runs, and where replacements stand.

A function of torch announces itself to the function mode by its public name, looked up when it
runs. Where that name holds a replacement that calls the original, as `F.relu = mine`, the mode is
told that the replacement is to run: running it would apply it twice.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    MethodWrapperType,
)
from typing import Any

import torch

from msprobe_core.torch.names.api_list import RECORDED

Function = Callable[..., Any]

_HOME = str(Path(torch.__file__).parent) + os.sep
_RELAY = torch.overrides.handle_torch_function.__code__
_MOST = 10_000
NAMESPACES: tuple[tuple[str, object], ...] = (
    ("Tensor", torch.Tensor),
    ("Torch", torch),
    ("VF", torch._VF),
    ("Functional", torch.nn.functional),
)
"""Where the functions of torch stand that are recorded by name, with the prefix of each."""


def is_torchs_own(function: object) -> bool:
    """Whether a callable came with torch: compiled, or Python code from torch's folder."""
    code = getattr(function, "__code__", None)
    if isinstance(code, CodeType):
        return code.co_filename.startswith(_HOME)
    kind = function if isinstance(function, type) else type(function)
    return kind.__module__.partition(".")[0] in ("torch", "builtins")


def replaced_members() -> Iterator[tuple[str, object, str, Function]]:
    """Prefix, namespace, name and replacement of each recorded name that is not torch's own."""
    for prefix, namespace, name in _recorded_names():
        member = getattr(namespace, name, None)
        if member is _seen_own.get((prefix, name)) or not callable(member):
            continue
        if is_torchs_own(member):
            _seen_own[prefix, name] = member
        else:
            yield prefix, namespace, name, member


_seen_own: dict[tuple[str, str], Function] = {}
"""What stood at a recorded name and was torch's own: asked once, as every recording looks."""


@cache
def _recorded_names() -> tuple[tuple[str, object, str], ...]:
    return tuple(
        (prefix, at, name) for prefix, at in NAMESPACES for name in sorted(RECORDED[prefix])
    )


def _own_of_python() -> Iterator[tuple[tuple[str, str], FunctionType]]:
    for prefix, namespace, name in _recorded_names():
        member = getattr(namespace, name, None)
        if type(member) is FunctionType and is_torchs_own(member):
            yield (prefix, name), member


_OWN = dict(_own_of_python())
"""What stood at a recorded name when this was imported, of torch's own functions in Python.

What was replaced by then is searched for among all objects; in a process that froze those
(`gc.freeze`, as servers do) the search finds nothing.
"""
_OWN_BY_CODE = {function.__code__: function for function in _OWN.values()}


def original_member(prefix: str, name: str) -> Function | None:
    """Torch's own function of that name, where the name holds a replacement."""
    compiled = {"Tensor": torch._C.TensorBase, "Functional": torch._C._nn}
    own = getattr(compiled.get(prefix, torch._C._VariableFunctions), name, None)
    if own is not None:
        return own  # type: ignore[no-any-return]  # torch's own function
    known = _OWN.get((prefix, name))
    if known is not None:
        return known
    # By type: asking for the class of a lazy object, as isinstance does, would run its code.
    functions = (each for each in gc.get_objects() if type(each) is FunctionType)
    qualified = f"Tensor.{name}" if prefix == "Tensor" else name
    named = (each for each in functions if qualified in (each.__qualname__, each.__name__))
    return next((each for each in named if is_torchs_own(each)), None)


class Originals:
    """Finds the function of torch that runs when a replacement is announced.

    `_trusted` holds what was found to be no replacement, by identity and with the object itself,
    so that no other can take its identity. The originals are found by the code that runs.
    """

    def __init__(self) -> None:
        self._trusted: dict[int, object] = {}
        self._by_code: dict[CodeType, Function | None] = {}

    def of(self, function: Function, frame: FrameType) -> Function:
        """The function that runs: `function` itself, or torch's own that it replaces."""
        if id(function) in self._trusted or type(function) is MethodWrapperType:
            return function  # `Tensor.grad.__get__` is made anew for each call
        if is_torchs_own(function):
            return self._trust(function)
        if frame.f_code is _RELAY and frame.f_back is not None:
            return self._announced_by(frame.f_back, function)
        return _method_behind(function) or function

    def _trust(self, function: Function) -> Function:
        if len(self._trusted) >= _MOST:  # a run that makes functions all the time
            self._trusted.clear()
        self._trusted[id(function)] = function
        return function

    def _announced_by(self, body: FrameType, function: Function) -> Function:
        code = body.f_code
        if not code.co_filename.startswith(_HOME) or not _names(body, function):
            return function  # a function of the user's that announces itself
        if code not in self._by_code:
            self._by_code[code] = _function_of(code)
        return self._by_code[code] or function


def _names(body: FrameType, function: Function) -> bool:
    """Whether a body of torch reaches `function` by a name."""
    places = (torch.Tensor, torch, torch.nn.functional, torch.nn.init)
    return any(
        body.f_globals.get(name) is function
        or any(getattr(place, name, None) is function for place in places)
        for name in body.f_code.co_names
    )


def _function_of(code: CodeType) -> Function | None:
    """The function that has this code; of a branch of a switch, the function with the switch."""
    branches = torch._jit_internal.boolean_dispatched
    for outer, info in branches.items():
        if code in (info["if_true"].__code__, info["if_false"].__code__):
            return outer
    if code in _OWN_BY_CODE:
        return _OWN_BY_CODE[code]
    holders = [each for each in gc.get_referrers(code) if type(each) is FunctionType]
    return next((each for each in holders if each.__code__ is code), None)


def _method_behind(function: Function) -> Function | None:
    """The compiled method of a tensor whose name in `torch.Tensor` holds a replacement."""
    for name, member in list(vars(torch.Tensor).items()):
        if member is function:
            method = getattr(torch._C.TensorBase, name, None)
            if isinstance(method, (MethodDescriptorType, BuiltinFunctionType)):
                return method
    return None
