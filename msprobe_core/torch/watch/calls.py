"""Records API calls through torch's function mode, which sees every call of torch's API.

The mode is entered at `start` and left at `stop`; torch itself stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from types import FrameType
from typing import Any

import torch
from torch._C import _get_function_stack_at, _len_torch_function_stack
from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.capture.threads import ThreadState
from msprobe_core.capture.trace import Trace
from msprobe_core.torch.memory.unwritten import ALLOCATING, mark_overwritten
from msprobe_core.torch.memory.writes import WRITING, written_by
from msprobe_core.torch.names.api_table import Api
from msprobe_core.torch.names.call_site import CallSites, written_arguments
from msprobe_core.torch.record.entries import begin_call, end_call, holds_tensor, write_output
from msprobe_core.torch.watch.gradients import GradientWatch
from msprobe_core.torch.watch.graph import now
from msprobe_core.torch.watch.regions import RegionWatch

_EXPOSES_MEMORY = frozenset({"numpy"})
_RESIZES = frozenset({"resize_", "resize_as_"})

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
_Begun = tuple[Api, str, ModuleCall | None, Entry | None, int]
"""A call that runs: its API, its name without direction, where it stands, its entry, and the number
that the first graph node made in it will get.
"""

NameUnlisted = Callable[[Callable[..., Any]], Api | None]
"""The name of a function that is on no list, None for what is not recorded."""

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
        unlisted: NameUnlisted | None = None,
    ) -> None:
        super().__init__()
        self._regions = regions
        self._trace, self._table = trace, sites.table
        self._threads, self._gradients = threads, gradients
        self._sites = sites
        self._below: list[object] = []
        self.is_started = False
        self._unlisted = unlisted

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - the result of any function of torch
        kwargs = kwargs or {}
        try:
            func = self._sites.originals.of(func, sys._getframe(self._depth))
        except Exception as error:  # nothing of this may reach the user's step
            self._trace.report(f"what {func} replaces", error)
        if func not in self._table.watched:
            return self._unrecorded(func, args, kwargs)
        if self.is_quiet():
            return func(*args, **kwargs)
        try:
            api, caller, written = self._as_written(func, args, kwargs, sys._getframe(self._depth))
        except Exception as error:  # nothing of this may reach the user's step
            self._trace.report(f"the name of {func}", error)
            return func(*args, **kwargs)
        if api is None:
            return self._inside(self._table.unwrapped.get(func, func), func, args, kwargs)
        return self.record(api, func, (args, kwargs), written, caller)

    def _as_written(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        frame: FrameType,
    ) -> tuple[Api | None, FrameType, Arguments]:
        api, caller, body = self._sites.resolve(func, args, frame)
        if body is None or api is None:
            return api, caller, (args, kwargs)
        return api, caller, written_arguments(body, caller, args, kwargs)

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
        self.is_started = True
        self._below = [_get_function_stack_at(n) for n in range(_len_torch_function_stack())]
        _push_mode(self)

    def stop(self) -> None:
        """Leave the mode. A mode of the user's that ended meanwhile took it off in its stead."""
        if not self.is_started:
            return
        self.is_started = False
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
        call: Arguments,
        written: Arguments,
        caller: FrameType | None,
    ) -> Any:  # noqa: ANN401
        """Run one API call and record it; exceptions of the call leave its inputs recorded."""
        begun = self._begin(api, written, caller)
        local = self._threads.local
        resizes = api.name in _RESIZES
        size = self._trace.safely(api.owner, _elements, call[0]) if resizes else None
        local.quiet += 1
        try:
            result = func(*call[0], **call[1])
        except BaseException:
            local.quiet -= 1
            self._end(begun, written[0])
            raise
        local.quiet -= 1
        wrote = written_by(api.name, *call, result)
        if wrote:
            self._trace.safely(api.owner, self._trace.book.written, wrote)
        if size is not None:
            self._trace.safely(api.owner, self._resized, result, size)
        self._end(begun, written[0], result)
        return result

    def _begin(self, api: Api, written: Arguments, caller: FrameType | None) -> _Begun | None:
        trace, local = self._trace, self._threads.local
        try:
            parent = local.running[-1] if local.running else self._around(caller)
            name = f"{api.prefix}.{api.name}.{trace.next_call(api.owner)}"
            marked = mark_overwritten(api.name, *written)
            entry = begin_call(trace, f"{name}.forward", api, parent, marked, caller)
            return api, name, parent, entry, now()
        except Exception as error:  # nothing of this may reach the user's step
            trace.report(api.owner, error)
            return None

    def _around(self, caller: FrameType | None) -> ModuleCall | None:
        """Where a call stands that no running module makes: a region, or a user's own backward."""
        return self._regions.region_of(caller) or self._gradients.running_backward()

    def _end(self, begun: _Begun | None, args: tuple[Any, ...], *result: Any) -> None:  # noqa: ANN401
        """Record the result of a call; without one it has raised."""
        if begun is None:
            return
        trace = self._trace
        api, name, parent, entry, made = begun
        try:
            if api.name in _EXPOSES_MEMORY:
                trace.book.given_away(args[0])
            if entry is not None and result:
                write_output(trace, entry, result[0])
            end_call(trace, f"{name}.forward", entry, parent)
            if result:
                backward = f"{name}.backward"
                self._gradients.watch_call(backward, result[0], parent, made, api.has_values)
        except Exception as error:  # nothing of this may reach the user's step
            trace.report(name, error)

    def _unrecorded(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:  # noqa: ANN401
        quiet = self.is_quiet()
        if self._unlisted is not None and not quiet:
            api = self._trace.safely("the name of a call", self._unlisted, func)
            if api is not None:
                return self._record_unlisted(api, func, args, kwargs)
        if func in ALLOCATING and not quiet:
            result = func(*args, **kwargs)
            self._trace.safely("a new tensor", self._trace.book.allocated, result)
            return result
        inner = self._table.unwrapped.get(func)
        if inner is not None:
            return self._inside(inner, func, args, kwargs)
        result = func(*args, **kwargs)
        if (func in WRITING or "out" in kwargs) and not quiet:
            wrote = written_by(getattr(func, "__name__", ""), args, kwargs, result)
            self._trace.safely("written memory", self._trace.book.written, wrote)
        return result

    def _record_unlisted(
        self, api: Api, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:  # noqa: ANN401
        """Run a call of risk level ALL; it leaves an entry only when it returns a tensor."""
        trace, local = self._trace, self._threads.local
        begun = self._begin_unlisted(api, args, kwargs, sys._getframe(self._depth + 2))
        local.quiet += 1
        try:
            result = func(*args, **kwargs)
        finally:
            local.quiet -= 1
        try:
            if begun is not None and holds_tensor(result):
                self._end_unlisted(begun, func, args, result)
        except Exception as error:  # nothing of this may reach the user's step
            trace.report(api.owner, error)
        return result

    def _begin_unlisted(
        self, api: Api, args: tuple[Any, ...], kwargs: dict[str, Any], caller: FrameType
    ) -> _Begun | None:
        trace, local = self._trace, self._threads.local
        try:
            parent = local.running[-1] if local.running else self._around(caller)
            name = f"{api.owner}.{trace.calls_of(api.owner)}"
            marked = mark_overwritten(api.name, args, kwargs)
            entry = begin_call(trace, f"{name}.forward", api, parent, marked, caller)
            return api, name, parent, entry, now()
        except Exception as error:  # nothing of this may reach the user's step
            trace.report(api.owner, error)
            return None

    def _end_unlisted(
        self,
        begun: _Begun,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        result: Any,  # noqa: ANN401
    ) -> None:
        trace = self._trace
        api, name, parent, entry, made = begun
        trace.next_call(api.owner)
        if func in ALLOCATING:
            trace.book.allocated(result)
        wrote = written_by(api.name, args, {}, result)
        if wrote:
            trace.book.written(wrote)
        arrives_later = api.name.startswith(_COLLECTIVES)
        if entry is not None and not (arrives_later and not api.name.startswith(_WAIT)):
            write_output(trace, entry, result)
        end_call(trace, f"{name}.forward", entry, parent)
        self._gradients.watch_call(f"{name}.backward", result, parent, made, True)

    def _resized(self, tensor: torch.Tensor, before: int) -> None:
        if tensor.numel() > before:
            self._trace.book.allocated(tensor)

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


def _elements(args: tuple[Any, ...]) -> int:
    """How many elements there are before a call that may add some."""
    return int(args[0].numel())


def call_mode_type() -> type[CallMode]:
    """CallMode, hidden from dynamo where anything was compiled in this process.

    Dynamo would trace the mode into the user's graphs. Code that it compiles under the hidden one
    runs call by call and is recorded.
    """
    dynamo = sys.modules.get("torch._dynamo")
    backends = getattr(getattr(dynamo, "eval_frame", None), "cached_backends", {})
    if dynamo is None or not any(backend is not None for backend in backends.values()):
        return CallMode
    return _hidden_type()


@lru_cache(maxsize=1)
def _hidden_type() -> type[CallMode]:
    # One for the process: dynamo compiles again for a mode of another type.
    hidden = torch._dynamo.disable(CallMode.__torch_function__)
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
