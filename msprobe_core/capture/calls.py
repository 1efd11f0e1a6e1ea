"""Records API calls through torch's function mode, which sees every call of torch's API.

The mode is entered at `start` and left at `stop`; torch itself stays as it is.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch._C import _get_function_stack_at, _len_torch_function_stack
from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode

from msprobe_core.capture.api_table import Api
from msprobe_core.capture.call_site import CallSites, written_arguments
from msprobe_core.capture.entries import begin_call, end_call, holds_tensor, write_output
from msprobe_core.capture.gradients import GradientWatch
from msprobe_core.capture.regions import RegionWatch
from msprobe_core.capture.threads import ThreadState
from msprobe_core.capture.trace import Trace

_DATA = inspect.getattr_static(torch.Tensor, "data").__get__
"""`x.data` shares the elements of x but not its version: x may change without a sign."""

_COLLECTIVES = "_c10d_functional"
_WAIT = "_c10d_functional.wait_tensor"
"""Functional collectives return before their result is there; waiting for it gives the result."""


class CallMode(TorchFunctionMode):
    """Records each outermost API call of the thread that entered it."""

    _depth = 1  # frames between the handler and the call that it handles

    def __init__(
        self,
        trace: Trace,
        sites: CallSites,
        threads: ThreadState,
        gradients: GradientWatch,
        regions: RegionWatch,
    ) -> None:
        super().__init__()
        self._regions = regions
        self._trace, self._table = trace, sites.table
        self._threads, self._gradients = threads, gradients
        self._sites = sites
        self._below: list[object] = []
        self.unlisted: Callable[[Callable[..., Any]], Api | None] | None = None

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - the result of any function of torch
        kwargs = kwargs or {}
        table = self._table
        if func not in table.watched:
            return self._unrecorded(func, args, kwargs)
        if self.is_quiet():
            return func(*args, **kwargs)
        frame = sys._getframe(self._depth)
        api, caller, body = self._sites.resolve(func, args, frame)
        if api is None:
            return self._inside(table.unwrapped.get(func, func), func, args, kwargs)
        written = (args, kwargs) if body is None else written_arguments(body, caller, args, kwargs)
        return self.record(api, func, (args, kwargs), written, caller)

    def enter_again(self) -> bool:
        """Enter the mode where torch has turned it off or never on; whether that was needed."""
        if self.is_quiet() or self._is_on():
            return False
        _push_mode(self)
        return True

    def step_aside(self) -> bool:
        """Take the mode off until `come_back`; whether it was on."""
        was_on = self._is_on()
        if was_on:
            self.leave()
        return was_on

    def come_back(self) -> None:
        """Put the mode on again."""
        _push_mode(self)

    def is_quiet(self) -> bool:
        """Whether calls are not recorded now: inside a recorded one, or after the step."""
        local = self._threads.local
        return bool(local.quiet or self._trace.closed or self._threads.muted)

    def _is_on(self) -> bool:
        return any(_get_function_stack_at(n) is self for n in range(_len_torch_function_stack()))

    def start(self) -> None:
        """Enter the mode in this thread."""
        self._below = [_get_function_stack_at(n) for n in range(_len_torch_function_stack())]
        _push_mode(self)

    def stop(self) -> None:
        """Leave the mode. A mode of the user's that ended meanwhile took it off in its stead."""
        if self._is_on():
            self.leave()
            return
        left = [_get_function_stack_at(n) for n in range(_len_torch_function_stack())]
        ended = next((mode for mode in reversed(self._below) if mode in left), None)
        if ended is not None:
            _take_off(ended)

    def leave(self) -> None:
        """Take this mode off the thread's stack, wherever on it the mode stands."""
        _take_off(self)

    def record(
        self,
        api: Api,
        func: Callable[..., Any],
        call: tuple[tuple[Any, ...], dict[str, Any]],
        written: tuple[tuple[Any, ...], dict[str, Any]],
        caller: FrameType | None,
    ) -> Any:  # noqa: ANN401
        """Run one API call and record it; exceptions of the call leave its inputs recorded."""
        trace, local = self._trace, self._threads.local
        parent = local.running[-1] if local.running else self._regions.region_of(caller)
        number = trace.next_call(api.owner)
        name = f"{api.prefix}.{api.name}.{number}"
        entry = begin_call(trace, f"{name}.forward", api, parent, written, caller)
        local.quiet += 1
        try:
            result = func(*call[0], **call[1])
        except BaseException:
            local.quiet -= 1
            end_call(trace, f"{name}.forward", entry, parent)
            raise
        local.quiet -= 1
        if entry is not None:
            write_output(trace, entry, result)
        end_call(trace, f"{name}.forward", entry, parent)
        self._gradients.watch_call(f"{name}.backward", result, parent, api.has_values)
        return result

    def _unrecorded(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:  # noqa: ANN401
        if func == _DATA and args:
            self._trace.book.distrust(args[0])
        if self.unlisted is not None and not self.is_quiet():
            api = self.unlisted(func)
            if api is not None:
                return self._record_unlisted(api, func, args, kwargs)
        inner = self._table.unwrapped.get(func)
        if inner is not None:
            return self._inside(inner, func, args, kwargs)
        return func(*args, **kwargs)

    def _record_unlisted(
        self, api: Api, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:  # noqa: ANN401
        """Run a call of risk level ALL; it leaves an entry only when it returns a tensor."""
        trace, local = self._trace, self._threads.local
        caller = sys._getframe(self._depth + 2)
        parent = local.running[-1] if local.running else self._regions.region_of(caller)
        name = f"{api.owner}.{trace.calls_of(api.owner)}"
        entry = begin_call(trace, f"{name}.forward", api, parent, (args, kwargs), caller)
        local.quiet += 1
        try:
            result = func(*args, **kwargs)
        finally:
            local.quiet -= 1
        if not holds_tensor(result):
            return result
        trace.next_call(api.owner)
        arrives_later = api.name.startswith(_COLLECTIVES)
        if arrives_later:  # what fills the tensors leaves their versions as they are
            trace.book.distrust([*args, result])
        if entry is not None and not (arrives_later and not api.name.startswith(_WAIT)):
            write_output(trace, entry, result)
        end_call(trace, f"{name}.forward", entry, parent)
        self._gradients.watch_call(f"{name}.backward", result, parent, True)
        return result

    def _inside(
        self,
        inner: Callable[..., Any],
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:  # noqa: ANN401
        if inner is func:
            return func(*args, **kwargs)
        with self:
            return inner(*args, **kwargs)


def call_mode_type() -> type[CallMode]:
    """CallMode, hidden from dynamo where anything was compiled in this process.

    Dynamo would trace the mode into the user's graphs. Code that it compiles under the hidden one
    runs call by call and is recorded.
    """
    dynamo = sys.modules.get("torch._dynamo")
    backends = getattr(getattr(dynamo, "eval_frame", None), "cached_backends", {})
    if dynamo is None or not any(backend is not None for backend in backends.values()):
        return CallMode
    hidden = dynamo.disable(CallMode.__torch_function__)
    return type("CallMode", (CallMode,), {"__torch_function__": hidden, "_depth": 2})


def _take_off(wanted: object) -> None:
    others = []
    while _len_torch_function_stack():
        mode = _pop_mode()
        if mode is wanted:
            break
        others.append(mode)
    for mode in reversed(others):
        _push_mode(mode)
