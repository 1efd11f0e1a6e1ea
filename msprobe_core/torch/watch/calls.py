"""Records API calls through torch's function mode, which sees every call of torch's API.

The mode is entered at `start` and left at `stop`; torch itself stays as it is.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.capture.threads import ThreadState
from msprobe_core.torch.fast_paths import OwnMode
from msprobe_core.torch.function_modes import (
    insert,
    modes_of_thread,
    take_off,
    take_off_after_this_call,
    take_off_later,
)
from msprobe_core.torch.intervene.graft import Graft
from msprobe_core.torch.memory.memory_trace import MemoryTrace
from msprobe_core.torch.memory.unwritten import ALLOCATING, mark_overwritten
from msprobe_core.torch.memory.writes import WRITING, written_by
from msprobe_core.torch.names.api_table import Api
from msprobe_core.torch.names.call_site import CallSites, written_arguments
from msprobe_core.torch.record.entries import begin_call, end_call, holds_tensor, write_output
from msprobe_core.torch.watch.gradients import GradientWatch
from msprobe_core.torch.watch.graph import now
from msprobe_core.torch.watch.regions import RegionWatch
from msprobe_core.torch.watch.unlisted_flow import UnlistedFlow

_EXPOSES_MEMORY = frozenset({"numpy"})
_RESIZES = frozenset({"resize_", "resize_as_"})

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Begun = tuple[Api, str, ModuleCall | None, Entry | None, int]
"""A call that runs: its API, its name without direction, where it stands, its entry, and the number
that the first graph node made in it will get.
"""

NameUnlisted = Callable[[Callable[..., Any]], Api | None]
"""The name of a function that is on no list, None for what is not recorded."""

_COLLECTIVES = "_c10d_functional"
_WAIT = "_c10d_functional.wait_tensor"
"""Functional collectives return before their result is there; waiting for it gives the result."""


class CallMode(OwnMode):
    """Records each outermost API call of the thread that entered it."""

    _depth = 1  # frames between the handler and the call that it handles

    def __init__(
        self,
        trace: MemoryTrace,
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
        self._thread: int | None = None
        self._aside = threading.local()
        self._unlisted = unlisted
        self._flow = UnlistedFlow(trace, self._parent_of)
        self.graft: Graft | None = None

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if self._thread is None:
            take_off_after_this_call(self)
            return func(*args, **kwargs)
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
            inner = self._table.unwrapped.get(func, func)
            if inner is func:
                return self._followed(func, (args, kwargs), sys._getframe(self._depth))
            return self._inside(inner, func, args, kwargs)
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
        if self.is_quiet() or self in modes_of_thread():
            return False
        insert(self, 0)
        return True

    def step_aside(self) -> None:
        """Take the mode off in this thread until `come_back`."""
        self._aside.above = take_off(self)

    def come_back(self) -> None:
        """Put the mode where it was among the user's own."""
        above, self._aside.above = getattr(self._aside, "above", None), None
        if above is not None:
            insert(self, above)

    def is_quiet(self) -> bool:
        """Whether calls are not recorded now: inside a recorded one, or after the step."""
        local = self._threads.local
        return bool(local.quiet or self._trace.closed or self._threads.muted)

    def start(self) -> None:
        """Enter the mode in this thread."""
        for mode in modes_of_thread():
            if isinstance(mode, CallMode) and not mode.is_started:
                take_off(mode)
        self._below = modes_of_thread()
        self._thread = threading.get_ident()
        insert(self, 0)

    def stop(self) -> None:
        """Leave the mode. A mode of the user's that ended meanwhile took it off in its stead.

        No thread can take it off for another: the one that has it does so on its next occasion.
        """
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if thread != threading.get_ident():
            take_off_later(self, thread)
        elif take_off(self) is None:
            left = modes_of_thread()
            ended = next((mode for mode in reversed(self._below) if mode in left), None)
            if ended is not None and self._aside_here() is None:
                take_off(ended)

    @property
    def is_started(self) -> bool:
        """Whether the mode records; one that does not may still be on some thread's stack."""
        return self._thread is not None

    def leave(self) -> None:
        """Take this mode off the thread's stack, wherever on it the mode stands."""
        take_off(self)

    def _aside_here(self) -> int | None:
        above: int | None = getattr(self._aside, "above", None)
        return above

    def record(
        self,
        api: Api,
        func: Callable[..., Any],
        call: Arguments,
        written: Arguments,
        caller: FrameType | None,
    ) -> Any:
        """Run one API call and record it; exceptions of the call leave its inputs recorded."""
        begun = self._begin(api, written, caller)
        if self.graft is not None and begun is not None:
            name = f"{begun[1]}.forward"
            call = self._trace.safely(name, self.graft.inputs, name, *call) or call
        local = self._threads.local
        resizes = api.name in _RESIZES
        size = self._trace.safely(api.owner, _elements, call[0]) if resizes else None
        local.quiet += 1
        try:
            result = self._run(begun, func, call)
        except BaseException:  # the user's own, Ctrl-C too, goes on to him
            local.quiet -= 1
            self._end(begun, written[0])
            raise
        local.quiet -= 1
        wrote = written_by(api.name, *call, result)
        if wrote:
            output = None if begun is None else f"{begun[1]}.forward.output.0"
            self._trace.safely(api.owner, self._trace.book.written, wrote, output)
        if size is not None:
            self._trace.safely(api.owner, self._resized, result, size)
        if self.graft is not None and begun is not None:
            name = f"{begun[1]}.forward"
            other = self._trace.safely(name, self.graft.output, name, call[0], result)
            result = result if other is None else other
        self._end(begun, written[0], result)
        return result

    def _run(self, begun: Begun | None, func: Callable[..., Any], call: Arguments) -> Any:
        """The call itself, which whoever records more than calls surrounds."""
        del begun
        return func(*call[0], **call[1])

    def _begin(self, api: Api, written: Arguments, caller: FrameType | None) -> Begun | None:
        trace = self._trace
        try:
            parent = self._parent_of(caller)
            name = f"{api.prefix}.{api.name}.{trace.next_call(api.owner)}"
            marked = mark_overwritten(api.name, *written)
            entry = begin_call(trace, f"{name}.forward", api, parent, marked, caller)
            return api, name, parent, entry, now()
        except Exception as error:  # nothing of this may reach the user's step
            trace.report(api.owner, error)
            return None

    def _parent_of(self, caller: FrameType | None) -> ModuleCall | None:
        """Where a call stands: the running module, else a region, or a user's own backward."""
        running = self._threads.local.running
        if running:
            return running[-1]
        return self._regions.region_of(caller) or self._gradients.running_backward()

    def _end(self, begun: Begun | None, args: tuple[Any, ...], *result: Any) -> None:
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
    ) -> Any:
        quiet = self.is_quiet()
        if self._unlisted is not None and not quiet:
            api = self._trace.safely("the name of a call", self._unlisted, func)
            if api is not None:
                return self._record_unlisted(api, func, args, kwargs)
        inner = self._table.unwrapped.get(func)
        if inner is not None and func not in ALLOCATING:
            return self._inside(inner, func, args, kwargs)
        if quiet:
            return func(*args, **kwargs)
        return self._followed(func, (args, kwargs), sys._getframe(self._depth + 1))

    def _followed(self, func: Callable[..., Any], call: Arguments, caller: FrameType) -> Any:
        """Run a call that gets no entry; who wrote and made what is noted."""
        book, flow, begun = self._trace.book, self._flow, None
        writes = func in WRITING or "out" in call[1]
        if writes and flow.is_on:
            begun = flow.begin(func, call, caller)
        result = func(*call[0], **call[1])
        if func in ALLOCATING:
            self._trace.safely("a new tensor", book.allocated, result)
        elif writes:
            wrote = written_by(getattr(func, "__name__", ""), *call, result)
            name = None if begun is None else f"{begun.name}.output.0"
            self._trace.safely("written memory", book.written, wrote, name)
        if flow.is_on:
            flow.end(func, call, begun, result, caller)
        return result

    def _record_unlisted(
        self, api: Api, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
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
    ) -> Begun | None:
        trace = self._trace
        try:
            parent = self._parent_of(caller)
            name = f"{api.owner}.{trace.calls_of(api.owner)}"
            marked = mark_overwritten(api.name, args, kwargs)
            entry = begin_call(trace, f"{name}.forward", api, parent, marked, caller)
            return api, name, parent, entry, now()
        except Exception as error:  # nothing of this may reach the user's step
            trace.report(api.owner, error)
            return None

    def _end_unlisted(
        self,
        begun: Begun,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        result: Any,
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
    ) -> Any:
        if inner is func:
            return func(*args, **kwargs)
        with self:
            return inner(*args, **kwargs)


def _elements(args: tuple[Any, ...]) -> int:
    """How many elements there are before a call that may add some."""
    return int(args[0].numel())
