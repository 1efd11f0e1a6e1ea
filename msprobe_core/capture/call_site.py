"""From a function that the mode saw to the call as the user wrote it: name and arguments.

The frame that made the call tells it; what was found for one place in the code is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch

from msprobe_core.capture.api_table import Api, ApiTable
from msprobe_core.capture.bytecode import (
    CallShape,
    base_of,
    call_shape,
    callee_at,
    operands_at,
    operator_at,
)

_RELAY = torch.overrides.handle_torch_function.__code__
_DISPATCH_FILE = torch._jit_internal.__file__
_FORWARD = {
    "+": "__add__",
    "-": "__sub__",
    "*": "__mul__",
    "/": "__truediv__",
    "//": "__floordiv__",
    "%": "__mod__",
    "**": "__pow__",
    "@": "__matmul__",
    "&": "__and__",
    "|": "__or__",
    "^": "__xor__",
    "<<": "__lshift__",
    ">>": "__rshift__",
    "u-": "__neg__",
    "u~": "__invert__",
}
_COMPARISONS = {name: f"__{name}__" for name in ("gt", "ge", "lt", "le", "eq", "ne")}
_IMPLICIT = {
    "add": "__add__",
    "sub": "__sub__",
    "mul": "__mul__",
    "div": "__truediv__",
    "matmul": "__matmul__",
    "pow": "__pow__",
    "remainder": "__mod__",
    "neg": "__neg__",
    "abs": "__abs__",
}

Arguments = tuple[tuple[object, ...], dict[str, object]]


class CallSites:
    """Resolves calls for one table of APIs."""

    def __init__(self, table: ApiTable) -> None:
        self._table = table
        self._names: dict[tuple[object, CodeType, int], Api | None] = {}

    def resolve(
        self, function: Callable[..., Any], args: tuple[Any, ...], frame: FrameType
    ) -> tuple[Api | None, FrameType, FrameType | None]:
        """The API (None: not recorded), the caller's frame, and the frame of a relaying body."""
        table = self._table
        body: FrameType | None = None
        if frame.f_code is _RELAY and frame.f_back is not None:
            body = frame.f_back
            frame = body.f_back or body
            if _is_dispatch(frame):
                function = table.dispatched.get(function, function)
                frame = frame.f_back or frame
        outer = table.bodies.get(frame.f_code)
        if outer is not None and frame.f_back is not None:
            return outer, frame.f_back, frame
        api = table.functions.get(function)
        if function in table.operators:
            api = self._operator(function, args, frame, api)
        elif function in table.ambiguous:
            api = self._namespace(function, frame)
        return api, frame, body

    def _operator(
        self, function: Callable[..., Any], args: tuple[Any, ...], frame: FrameType, api: Api | None
    ) -> Api | None:
        method = self._table.operators[function]
        code, offset = frame.f_code, frame.f_lasti
        between_tensors = len(args) < 2 or isinstance(args[1], torch.Tensor)
        key = (function, code, offset)
        if between_tensors and key in self._names:
            return self._names[key]
        api = self._written_operator(method, args, frame, api)
        if between_tensors:
            self._names[key] = api
        return api

    def _written_operator(
        self, method: str, args: tuple[Any, ...], frame: FrameType, api: Api | None
    ) -> Api | None:
        code, offset = frame.f_code, frame.f_lasti
        symbol = operator_at(code, offset)
        if symbol is None:
            callee = callee_at(code, offset)
            if method.startswith("__") or callee is None or callee == method:
                return api
            name = _implicit(method, args)
        else:
            name = _dunder(method, symbol, args, frame)
        return self._table.dunders.get(name)

    def _namespace(self, function: Callable[..., Any], frame: FrameType) -> Api | None:
        key = (function, frame.f_code, frame.f_lasti)
        if key not in self._names:
            self._names[key] = _choose(self._table.ambiguous[function], frame)
        return self._names[key]


def written_arguments(
    body: FrameType, caller: FrameType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Arguments:
    """Positional and keyword arguments as the caller wrote them.

    A Python-level function of torch hands its arguments on with all defaults filled in; how many
    stood by position is in the caller's bytecode.
    """
    shape = call_shape(caller.f_code, caller.f_lasti)
    code = body.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if shape is None or code.co_flags & 0x0C or len(args) > len(names):
        return args, kwargs
    values: dict[str, object] = {**dict(zip(names, args)), **kwargs}
    return _arrange(shape, names, values) or (args, kwargs)


def _arrange(
    shape: CallShape, names: tuple[str, ...], values: dict[str, object]
) -> Arguments | None:
    count = shape.positional + (1 if names[:1] == ("self",) else 0)
    if count > len(names):
        return None
    try:
        positional = tuple(values[name] for name in names[:count])
        return positional, {name: values[name] for name in shape.keywords}
    except KeyError:  # the body hands on other names than it takes
        return None


def _is_dispatch(frame: FrameType) -> bool:
    return frame.f_code.co_name == "fn" and frame.f_code.co_filename == _DISPATCH_FILE


def _choose(found: tuple[Api, ...], frame: FrameType) -> Api | None:
    by_prefix = {api.prefix: api for api in found}
    functional = by_prefix.get("Functional", found[0])
    base = base_of(frame.f_code, frame.f_lasti, found[0].name)
    if base is None:
        return functional
    kind, name = base
    if kind == "attribute":
        return by_prefix.get({"_VF": "VF", "functional": "Functional"}.get(name, ""), functional)
    value = frame.f_globals.get(name) if kind == "name" else None
    if value is None and kind == "name":
        value = frame.f_locals.get(name)
    if value is torch and "Torch" in by_prefix:
        return by_prefix["Torch"]
    return by_prefix.get("VF", functional)


def _implicit(method: str, args: tuple[Any, ...]) -> str:
    """An operator reached without its symbol, by `sum(…)` or a function of `operator`."""
    name = _IMPLICIT.get(method, "")
    if name == "__add__" and len(args) > 1 and not isinstance(args[1], torch.Tensor):
        return "__radd__"
    return name


def _dunder(method: str, symbol: str, args: tuple[Any, ...], frame: FrameType) -> str:
    if method in _COMPARISONS:
        return _COMPARISONS[method]
    if method.startswith("__r") or symbol in ("==", "!="):
        return "__rtruediv__" if method == "__rdiv__" else method
    if symbol.endswith("="):
        return (
            _FORWARD[symbol[:-1]].replace("__", "__i", 1)
            if method.endswith("_")
            else _FORWARD[symbol[:-1]]
        )
    name = _FORWARD.get(symbol, "")
    if len(args) > 1 and not isinstance(args[1], torch.Tensor) and _is_reflected(frame):
        return name.replace("__", "__r", 1)
    return name


def _is_reflected(frame: FrameType) -> bool:
    """Whether the tensor of a tensor-and-number operator stands on its right side."""
    operands = operands_at(frame.f_code, frame.f_lasti)
    if operands is None:
        return False
    left, right = (_holds_tensor(side, frame) for side in operands)
    return left is False or (left is None and right is True)


def _holds_tensor(side: tuple[Any, ...], frame: FrameType) -> bool | None:
    """Whether an operand is a tensor; None when the code alone does not tell."""
    first = side[0]
    value: object
    if first.opname == "LOAD_CONST" and len(side) == 1:
        return False
    if first.opname in ("LOAD_FAST", "LOAD_DEREF", "LOAD_NAME", "LOAD_FAST_BORROW"):
        value = frame.f_locals.get(first.argval)
    elif first.opname == "LOAD_GLOBAL":
        value = frame.f_globals.get(first.argval)
    else:
        return None
    for step in side[1:]:
        if step.opname != "LOAD_ATTR":
            return False if _only_numbers(side, frame) else None
        value = getattr(value, "__dict__", {}).get(step.argval)
    return None if value is None else isinstance(value, torch.Tensor)


def _only_numbers(side: tuple[Any, ...], frame: FrameType) -> bool:
    for step in side:
        if step.opname.startswith(("BINARY_", "UNARY_", "LOAD_CONST", "CACHE")):
            continue
        source = frame.f_locals if step.opname == "LOAD_FAST" else frame.f_globals
        if step.opname not in ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_NAME"):
            return False
        value = source.get(step.argval, frame.f_locals.get(step.argval))
        if not isinstance(value, (int, float, complex)):
            return False
    return True
