"""From a function that the mode saw to the call as the user wrote it: name and arguments.

The frame that made the call tells it; what was found for one place in the code is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch

from msprobe_core.torch.names.api_table import Api, ApiTable, build_table
from msprobe_core.torch.names.bytecode import (
    CallShape,
    base_of,
    call_shape,
    callee_at,
    operands_at,
    operator_at,
)
from msprobe_core.torch.names.frame_locals import local_of
from msprobe_core.torch.names.operands import Operand, is_reflected
from msprobe_core.torch.names.replaced import Originals

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


Place = tuple[object, int, int, bool]
Operands = tuple[Operand, Operand]
_MOST_PLACES = 50_000


class Site(NamedTuple):
    """A place in `code` that calls `api`, or `reflected` when the operands then tell so."""

    code: CodeType
    api: Api | None
    reflected: Api | None = None
    operands: Operands | None = None


class CallSites:
    """Resolves calls for one table of APIs.

    What was found for a place is kept by the code's identity, as the hash of a code object is
    dear; the code is held with it, so that no other can take its identity.
    """

    def __init__(self, table: ApiTable) -> None:
        self.table = table
        self.originals = Originals()
        self._known: dict[Place, Site] = {}

    def resolve(
        self, function: Callable[..., Any], args: tuple[Any, ...], frame: FrameType
    ) -> tuple[Api | None, FrameType, FrameType | None]:
        """The API (None: not recorded), the caller's frame, and the frame of a relaying body."""
        table = self.table
        body: FrameType | None = None
        if frame.f_code is _RELAY and frame.f_back is not None:
            body = frame.f_back
            frame = body.f_back or body
            if _is_dispatch(frame):
                function = table.dispatched.get(function, function)
                frame = frame.f_back or frame
        outer = table.bodies.get(id(frame.f_code))
        if outer is not None and frame.f_back is not None:
            return outer, frame.f_back, frame
        api = table.functions.get(function)
        if function in table.operators:
            api = self._operator(function, args, frame, api)
        elif function in table.ambiguous:
            api = self._namespace(function, frame)
        elif function in table.aliases:
            called = callee_at(frame.f_code, frame.f_lasti) or function.__name__
            api = table.aliases[function].get(called, api)
        return api, frame, body

    def api_at(
        self, function: Callable[..., Any], between_tensors: bool, frame: FrameType
    ) -> Api | None:
        """The API by which a frame calls a function between a tensor and a number, or tensors."""
        api = self.table.functions.get(function)
        if function in self.table.ambiguous:
            return self._namespace(function, frame)
        if function not in self.table.operators:
            return api
        site = self._study(function, between_tensors, frame, api)
        reflected = site.operands is not None and is_reflected(*site.operands, frame)
        return site.reflected if reflected else site.api

    def _operator(
        self, function: Callable[..., Any], args: tuple[Any, ...], frame: FrameType, api: Api | None
    ) -> Api | None:
        between_tensors = len(args) < 2 or isinstance(args[1], torch.Tensor)
        place = (function, id(frame.f_code), frame.f_lasti, between_tensors)
        site = self._known.get(place)
        if site is None:
            site = self._keep(place, self._study(function, between_tensors, frame, api))
        if site.operands is not None and is_reflected(*site.operands, frame):
            return site.reflected
        return site.api

    def _study(
        self, function: Callable[..., Any], between_tensors: bool, frame: FrameType, api: Api | None
    ) -> Site:
        method, dunders = self.table.operators[function], self.table.dunders
        code, offset = frame.f_code, frame.f_lasti
        symbol = operator_at(code, offset)
        if symbol is None:
            callee = callee_at(code, offset)
            if method.startswith("__") or callee is None or callee == method:
                return Site(code, api)
            written = dunders.get(callee)  # `x.__rmul__(2)` is written so
            return Site(code, written or dunders.get(_implicit(method, between_tensors)))
        name = _dunder(method, symbol)
        # `number += tensor` is the reflected operator too: a number has none in place.
        forward = _FORWARD.get(symbol.removesuffix("=") if name != method else symbol)
        if between_tensors or name != forward or method in _COMPARISONS:
            return Site(code, dunders.get(name))
        reflected = dunders.get(name.replace("__", "__r", 1))
        return Site(code, dunders.get(name), reflected, operands_at(code, offset))

    def _namespace(self, function: Callable[..., Any], frame: FrameType) -> Api | None:
        place = (function, id(frame.f_code), frame.f_lasti, True)
        site = self._known.get(place)
        if site is None:
            api = _choose(self.table.ambiguous[function], frame)
            site = self._keep(place, Site(frame.f_code, api))
        return site.api

    def _keep(self, place: Place, site: Site) -> Site:
        if len(self._known) >= _MOST_PLACES:  # a run that makes code all the time
            self._known.clear()
        self._known[place] = site
        return site


@lru_cache(maxsize=3)
def call_sites(risk_level: str) -> CallSites:
    """The places found so far at a risk level: one step's are also the next one's."""
    return CallSites(build_table(risk_level))


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


def _choose(apis: tuple[Api, ...], frame: FrameType) -> Api | None:
    by_prefix = {api.prefix: api for api in apis}
    functional = by_prefix.get("Functional", apis[0])
    base = base_of(frame.f_code, frame.f_lasti, apis[0].name)
    if base is None:
        return functional
    kind, name = base
    if kind == "attribute":
        return by_prefix.get({"_VF": "VF", "functional": "Functional"}.get(name, ""), functional)
    value = frame.f_globals.get(name) if kind == "name" else None
    if value is None and kind == "name":
        value = local_of(frame, name)
    if value is torch and "Torch" in by_prefix:
        return by_prefix["Torch"]
    return by_prefix.get("VF", functional)


def _implicit(method: str, between_tensors: bool) -> str:
    """An operator reached without its symbol, by `sum(…)` or a function of `operator`."""
    name = _IMPLICIT.get(method, "")
    return "__radd__" if name == "__add__" and not between_tensors else name


def _dunder(method: str, symbol: str) -> str:
    if method in _COMPARISONS:
        return _COMPARISONS[method]
    if method.startswith("__r") or symbol in ("==", "!="):
        return "__rtruediv__" if method == "__rdiv__" else method
    if symbol.endswith("="):
        forward = _FORWARD[symbol[:-1]]
        return forward.replace("__", "__i", 1) if method.endswith("_") else forward
    return _FORWARD.get(symbol, "")
