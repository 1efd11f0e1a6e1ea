"""Records torch.distributed's collectives, which do not reach the function mode.

Their module attributes are wrapped at `start` and put back at `stop`.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.capture.replacing import Replacements
from msprobe_core.capture.threads import ThreadState
from msprobe_core.report import say
from msprobe_core.torch.memory.memory_trace import MemoryTrace
from msprobe_core.torch.names.api_list import RECORDED
from msprobe_core.torch.names.api_table import Api, has_values
from msprobe_core.torch.record.entries import (
    begin_call,
    close_forward,
    end_call,
    untraced,
    write_list,
)
from msprobe_core.torch.watch.awaited import Awaited, is_completed
from msprobe_core.torch.watch.coalescing import CoalescingBlocks
from msprobe_core.torch.watch.point_to_point import NAMES, Call, PointToPoint
from msprobe_core.torch.watch.regions import RegionWatch

_RECEIVED = {
    "recv": (0, "tensor"),
    "irecv": (0, "tensor"),
    "all_gather": (0, "tensor_list"),
    "all_gather_into_tensor": (0, "output_tensor"),
    "all_gather_single": (0, "output_tensor"),
    "_all_gather_base": (0, "output_tensor"),
    "gather": (1, "gather_list"),
    "scatter": (0, "tensor"),
    "reduce_scatter": (0, "output"),
    "reduce_scatter_single": (0, "output"),
    "reduce_scatter_tensor": (0, "output"),
    "_reduce_scatter_base": (0, "output"),
    "all_to_all": (0, "output_tensor_list"),
    "all_to_all_single": (0, "output"),
}
"""Which argument is only filled by the call: what it held before is no input."""

_FUNCTIONAL = (
    "all_reduce",
    "all_gather_single",
    "all_gather_tensor",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "all_to_all_single",
    "broadcast",
)
"""Those that return their result, as DTensor calls them; all have a `group`."""
_GROUP = "group"
_NAMED = 3  # calls that a line names

Function = Callable[..., Any]


_Begun = tuple[str, ModuleCall | None, Entry | None]
"""The name of a call that runs, where it stands, and its entry."""
_Unread = tuple[Entry, list[object]]
"""An entry whose output is still to be read, and the arguments that hold it."""
_NO_RESULT = '"output": []'


class CollectiveWatch:
    """Wraps the collectives for the time of a recording."""

    def __init__(
        self, trace: MemoryTrace, threads: ThreadState, regions: RegionWatch, risk_level: str
    ) -> None:
        self._trace, self._threads, self._regions = trace, threads, regions
        self._risk_level = risk_level
        self._replaced = Replacements()
        self._awaited: Awaited[_Unread] = Awaited(self._read, _copied)
        self._point_to_point = PointToPoint(self._record_operation, self._is_quiet)
        self._blocks = CoalescingBlocks(self._awaited)

    def start(self) -> None:
        """Wrap the collectives if torch.distributed is in use."""
        distributed = sys.modules.get("torch.distributed")
        if distributed is None or not distributed.is_available() or self._replaced:
            return
        core = sys.modules["torch.distributed.distributed_c10d"]
        if self._risk_level != "ALL":  # there the operators below them are recorded
            self._wrap_functional()
        self._awaited.start()
        self._point_to_point.start()
        self._blocks.start()
        for name in sorted(RECORDED["Distributed"].difference(NAMES)):
            original = getattr(distributed, name, None)
            if original is None:
                continue
            wrapper = self._wrapped(name, original)
            for module in (distributed, core):
                if getattr(module, name, None) is original:
                    self._replaced.put(module, name, wrapper)

    def _wrap_functional(self) -> None:
        functional = sys.modules.get("torch.distributed._functional_collectives")
        for name in _FUNCTIONAL:
            original = getattr(functional, name, None)
            if functional is not None and original is not None:
                self._replaced.put(functional, name, self._wrapped_functional(name, original))

    def stop(self) -> None:
        """Put the originals back."""
        self._replaced.restore()
        self._blocks.stop()
        self._point_to_point.stop()
        self._awaited.stop()

    def finish_all(self) -> None:
        """Write what nobody has waited for: what has not come by now has no results."""
        self._awaited.deliver()
        gathered = self._blocks.take_rest()
        early = self._awaited.pending + gathered
        self._awaited.deliver_completed()
        for entry, _ in self._awaited.take_rest() + gathered:
            entry.parts.append(f", {_NO_RESULT}" if entry.parts else _NO_RESULT)
            entry.open = 0
        if early:
            named = ", ".join(entry.name for entry, _ in early[:_NAMED])
            say(
                f"{len(early)} asynchronous collectives were not waited for before stop, and show "
                f"what was there then, or nothing: {named}{', …' if len(early) > _NAMED else ''}"
            )

    def _read(self, unread: _Unread) -> None:
        entry, values = unread
        with untraced():
            self._trace.safely(entry.name, self._write_results, entry, values)
        entry.open = 0

    def _wrapped(self, name: str, original: Function) -> Function:
        api = Api("Distributed", name, has_values(name, self._risk_level))

        @functools.wraps(original)
        def collective(*args: Any, **kwargs: Any) -> Any:
            if self._is_quiet():
                return original(*args, **kwargs)
            run = functools.partial(original, *args, **kwargs)
            return self._record(api, Call(name, run, args, kwargs, sys._getframe(1)))

        return collective

    def _wrapped_functional(self, name: str, original: Function) -> Function:
        api = Api("Distributed", name, has_values(name, self._risk_level))
        parameters = tuple(inspect.signature(original).parameters)

        @functools.wraps(original)
        def collective(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or self._is_quiet():
                return original(*args, **kwargs)
            trace, caller = self._trace, sys._getframe(1)
            given = {**dict(zip(parameters, args)), **kwargs}
            begun = trace.safely(api.owner, self._begin_functional, api, given, caller)
            self._threads.local.quiet += 1
            try:
                result = original(*args, **kwargs)
            finally:
                self._threads.local.quiet -= 1
            if begun is not None:
                trace.safely(api.owner, self._end_functional, begun, result)
            return result

        return collective

    def _begin_functional(self, api: Api, given: dict[str, Any], caller: FrameType) -> _Begun:
        named = {**given, _GROUP: _resolved(given.get(_GROUP), given.get("tag", ""))}
        parent = self._parent_at(caller)
        name = f"{api.owner}.{self._trace.next_call(api.owner)}.forward"
        values = (named.pop(next(iter(named))),)
        return name, parent, begin_call(self._trace, name, api, parent, (values, named), caller)

    def _end_functional(self, begun: _Begun, result: object) -> None:
        name, parent, entry = begun
        self._trace.place_forward(name, parent)
        self._trace.selection.leave(name)
        if entry is not None:  # reading the result waits for it
            self._write_results(entry, [result])
            self._hand_over(entry, parent)

    def _is_quiet(self) -> bool:
        return bool(self._threads.local.quiet or self._threads.muted or self._trace.closed)

    def _parent_at(self, caller: FrameType) -> ModuleCall | None:
        local = self._threads.local
        return local.parent() if local.running else self._regions.region_of(caller)

    def _record_operation(self, call: Call) -> Any:
        name = call.name
        return self._record(Api("Distributed", name, has_values(name, self._risk_level)), call)

    def _record(self, api: Api, call: Call) -> Any:
        trace, local = self._trace, self._threads.local
        try:
            name, parent, entry = self._begin(api, call.args, call.kwargs, call.caller)
        except Exception as error:  # nothing of this may reach the user's step
            trace.report(api.owner, error)
            return call.run()
        local.quiet += 1
        try:
            work = call.run()
        except BaseException:  # the user's own, Ctrl-C too, goes on to him
            end_call(trace, name, entry, parent)
            raise
        finally:
            local.quiet -= 1
        try:
            self._end(name, parent, entry, work, [*call.args, *call.kwargs.values()])
        except Exception as error:  # nothing of this may reach the user's step
            trace.report(name, error)
        return work

    def _end(
        self,
        name: str,
        parent: ModuleCall | None,
        entry: Entry | None,
        work: object,
        values: list[object],
    ) -> None:
        trace = self._trace
        trace.place_forward(name, parent)
        trace.selection.leave(name)
        gathered = entry is not None and self._blocks.gather(values, (entry, values))
        if not gathered and is_completed(work):  # else the group's own method has noted the work
            trace.book.arrived(values)
        if entry is not None:
            entry.open = 1
            if not gathered:
                self._awaited.note_or_hand_over(work, (entry, values))
            self._hand_over(entry, parent)

    def _begin(
        self, api: Api, args: tuple[Any, ...], kwargs: dict[str, Any], caller: FrameType
    ) -> _Begun:
        trace = self._trace
        self._awaited.deliver_completed()
        parent = self._parent_at(caller)
        name = f"{api.owner}.{trace.next_call(api.owner)}.forward"
        written = without_received(api.name, args, kwargs)
        return name, parent, begin_call(trace, name, api, parent, written, caller)

    def _hand_over(self, entry: Entry, parent: ModuleCall | None) -> None:
        if parent is None:  # of a backward pass itself, not of what it runs again
            self._trace.add(entry)
        else:
            close_forward(self._trace, entry)

    def _write_results(self, entry: Entry, values: list[object]) -> None:
        if self._trace.selection.outputs:
            write_list(self._trace, entry, "output", values)


def _resolved(group: object, tag: str) -> object:
    """The process group that a list of ranks, a mesh or a name stands for."""
    functional: Any = sys.modules["torch.distributed._functional_collectives"]
    core: Any = sys.modules["torch.distributed.distributed_c10d"]
    if isinstance(group, core.ProcessGroup):
        return group
    return core._resolve_process_group(functional._resolve_group_name(group, tag))


def _copied(unread: _Unread) -> _Unread:
    """The same with copies of its tensors, which nobody writes."""
    entry, values = unread
    with untraced(), torch.no_grad():
        return entry, [_copy(value) for value in values]


def _copy(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if type(value) in (list, tuple):
        copies = [_copy(each) for each in value]  # type: ignore[attr-defined]  # iterable, as asked above
        return copies if type(value) is list else tuple(copies)
    return value


def without_received(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with None for what is only filled by it."""
    place, keyword = _RECEIVED.get(name, (len(args), ""))
    if place < len(args):
        args = (*args[:place], None, *args[place + 1 :])
    if keyword in kwargs:
        kwargs = {**kwargs, keyword: None}
    return args, kwargs
