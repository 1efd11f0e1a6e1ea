"""Records torch.distributed's collectives, which do not reach the function mode.

Their module attributes are wrapped at `start` and put back at `stop`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from msprobe_core.capture.api_list import RECORDED
from msprobe_core.capture.api_table import Api, has_values
from msprobe_core.capture.entries import begin_call, close_forward, end_call, write_list
from msprobe_core.capture.regions import RegionWatch
from msprobe_core.capture.replacing import Replacements
from msprobe_core.capture.threads import ThreadState
from msprobe_core.capture.trace import Entry, ModuleCall, Trace

_RECEIVED = {
    "recv": 0,
    "irecv": 0,
    "all_gather": 0,
    "all_gather_into_tensor": 0,
    "_all_gather_base": 0,
    "gather": 1,
    "scatter": 0,
    "reduce_scatter": 0,
    "reduce_scatter_tensor": 0,
    "_reduce_scatter_base": 0,
    "all_to_all": 0,
    "all_to_all_single": 0,
}
"""Which argument is only filled by the call: what it held before is no input."""

Function = Callable[..., Any]


class CollectiveWatch:
    """Wraps the collectives for the time of a recording."""

    def __init__(
        self, trace: Trace, threads: ThreadState, regions: RegionWatch, risk_level: str
    ) -> None:
        self._trace, self._threads, self._regions = trace, threads, regions
        self._risk_level = risk_level
        self._replaced = Replacements()
        self._unfinished: list[tuple[object, Entry, list[object]]] = []

    def start(self) -> None:
        """Wrap the collectives if torch.distributed is in use."""
        distributed = sys.modules.get("torch.distributed")
        if distributed is None or not distributed.is_available() or self._replaced:
            return
        core = sys.modules["torch.distributed.distributed_c10d"]
        for name in sorted(RECORDED["Distributed"]):
            original = getattr(distributed, name, None)
            if original is None:
                continue
            wrapper = self._wrapped(name, original)
            for module in (distributed, core):
                if getattr(module, name, None) is original:
                    self._replaced.put(module, name, wrapper)

    def stop(self) -> None:
        """Put the originals back and finish what ran asynchronously."""
        self._replaced.restore()
        self.finish(last=True)

    def finish(self, last: bool) -> None:
        """Write the results of asynchronous calls that have completed by now."""
        left: list[tuple[object, Entry, list[object]]] = []
        for work, entry, values in self._unfinished:
            if _is_completed(work):
                self._write_results(entry, values)
                entry.open = 0
            elif last:
                entry.parts.append(', "output": []' if entry.parts else '"output": []')
                entry.open = 0
            else:
                left.append((work, entry, values))
        self._unfinished = left

    def _wrapped(self, name: str, original: Function) -> Function:
        api = Api("Distributed", name, has_values(name, self._risk_level))

        @functools.wraps(original)
        def collective(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            if self._threads.local.quiet or self._threads.muted or self._trace.closed:
                return original(*args, **kwargs)
            return self._record(api, original, args, kwargs)

        return collective

    def _record(
        self, api: Api, original: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:  # noqa: ANN401
        trace, local = self._trace, self._threads.local
        self.finish(last=False)
        caller = sys._getframe(2)
        parent: ModuleCall | None
        parent = local.parent() if local.running else self._regions.region_of(caller)
        name = f"{api.owner}.{trace.next_call(api.owner)}.forward"
        written = _without_received(api.name, args)
        entry = begin_call(trace, name, api, parent, (written, kwargs), caller)
        local.quiet += 1
        try:
            work = original(*args, **kwargs)
        except BaseException:
            end_call(trace, name, entry, parent)
            raise
        finally:
            local.quiet -= 1
        trace.place_forward(name, parent)
        trace.selection.leave(name)
        trace.book.distrust([*args, *kwargs.values()])  # collectives leave versions as they were
        if entry is not None:
            self._close(entry, work, [*args, *kwargs.values()])
        return work

    def _close(self, entry: Entry, work: object, values: list[object]) -> None:
        if not _is_completed(work):
            entry.open = 1
            self._unfinished.append((work, entry, values))
        else:
            self._write_results(entry, values)
        close_forward(self._trace, entry)

    def _write_results(self, entry: Entry, values: list[object]) -> None:
        if self._trace.selection.outputs:
            write_list(self._trace, entry, "output", values)


def _is_completed(work: object) -> bool:
    """Whether a call's work is done; what is no work (None from a blocking call) is."""
    if isinstance(work, (list, tuple)):
        return all(_is_completed(each) for each in work)
    completed = getattr(work, "is_completed", None)
    return completed is None or bool(completed())


def _without_received(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    place = _RECEIVED.get(name)
    if place is None or place >= len(args):
        return args
    return (*args[:place], None, *args[place + 1 :])
