"""What goes into and comes out of collectives, for `cc_distribution`, and who calls them.

One row a tensor: `<function>.<pre|post>.<argument>`. A buffer that the call only fills has no row
before it. What runs asynchronously is measured when somebody waits for it.
"""

from __future__ import annotations

import functools
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

import torch
from torch import distributed

from msprobe.pytorch.monitor.safely import safely
from msprobe_core.capture.replacing import Replacements
from msprobe_core.report import say
from msprobe_core.torch.watch.awaited import Awaited
from msprobe_core.torch.watch.coalescing import CoalescingBlocks
from msprobe_core.torch.watch.collectives import without_received
from msprobe_core.torch.watch.point_to_point import Call, PointToPoint

FUNCTIONS = (
    *("send", "recv", "broadcast", "reduce", "all_reduce", "gather", "scatter"),
    *("all_gather", "all_gather_into_tensor", "reduce_scatter", "reduce_scatter_tensor"),
    *("all_to_all", "all_to_all_single"),
)
Sink = Callable[[str, torch.Tensor], None]
"""Called with the row's name and the tensor."""
Named = list[tuple[str, torch.Tensor]]
_Row = tuple[str, Named]
"""The beginning of a row's name, and the tensors to measure."""


class CollectiveHooks:
    """Replaces the functions of torch.distributed until `close`.

    `settings` is the configuration's `cc_distribution`: `cc_codeline` (patterns of the lines whose
    calls are measured), `cc_pre_hook` (measure before a call, too), `cc_log_only` (no rows).
    """

    def __init__(self, settings: Mapping[str, Any], sink: Sink) -> None:
        self._sink = sink
        self._lines = [re.compile(pattern) for pattern in settings.get("cc_codeline") or []]
        self._before = bool(settings.get("cc_pre_hook"))
        self._log_only = bool(settings.get("cc_log_only"))
        self.callers: dict[str, list[list[str]]] = {}
        self._replaced = Replacements()
        self._awaited: Awaited[_Row] = Awaited(self._measure_safely, _copied)
        self._blocks = CoalescingBlocks(self._awaited)
        self._inside = threading.local()
        self._point_to_point = PointToPoint(self._follow, self._is_inside)
        if not distributed.is_available():
            return
        for name in FUNCTIONS:
            self._replaced.put(distributed, name, self._wrapped(name, getattr(distributed, name)))
        self._awaited.start()
        self._blocks.start()
        self._point_to_point.start()

    def end_step(self) -> None:
        """Let go of what nobody waits for; with `cc_log_only` say once who calls."""
        self._awaited.deliver()
        self._awaited.take_rest()
        if self._log_only and self.callers:
            say(f"monitor: collectives and who calls them: {json.dumps(self.callers)}")
            self.callers = {}
            self.close()

    def close(self) -> None:
        """Put the originals back."""
        self._point_to_point.stop()
        self._blocks.stop()
        self._awaited.stop()
        self._replaced.restore()
        self._blocks.take_rest()
        self._awaited.take_rest()

    def _wrapped(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def collective(*args: Any, **kwargs: Any) -> Any:
            run = functools.partial(original, *args, **kwargs)
            self._inside.depth = getattr(self._inside, "depth", 0) + 1
            try:
                return self._follow(Call(name, run, args, kwargs, sys._getframe(1)))
            finally:
                self._inside.depth -= 1

        return collective

    def _is_inside(self) -> bool:
        """Whether this thread is in a call that is measured as a whole."""
        return bool(getattr(self._inside, "depth", 0))

    def _follow(self, call: Call) -> Any:
        chosen = self._is_chosen(call.name, call.caller)
        if chosen and self._before and not self._log_only:
            given = without_received(call.name, call.args, call.kwargs)
            safely(self._measure, f"{call.name}.pre", list(_tensors(*given)))
        result = call.run()
        if chosen and not self._log_only:
            row = f"{call.name}.post", list(_tensors(call.args, call.kwargs))
            if not self._blocks.gather([*call.args, *call.kwargs.values()], row):
                self._awaited.note_or_hand_over(result, row)
        return result

    def _measure_safely(self, row: _Row) -> None:
        safely(self._measure, *row)

    def _measure(self, name: str, tensors: Named) -> None:
        for place, tensor in tensors:
            self._sink(f"{name}.{place}", tensor)

    def _is_chosen(self, name: str, frame: FrameType | None) -> bool:
        """Whether a call's line is asked for; each way to it is noted once."""
        if not self._lines and not self._log_only:
            return True
        stack = _lines_of(frame)
        ways = self.callers.setdefault(name, [])
        if stack not in ways:
            ways.append(stack)
        return not self._lines or any(line.search(each) for line in self._lines for each in stack)


def _copied(row: _Row) -> _Row:
    name, tensors = row
    return name, [(place, tensor.detach().clone()) for place, tensor in tensors]


def _lines_of(frame: FrameType | None) -> list[str]:
    """The user's frames, innermost first, as `file[line]   function`."""
    found: list[str] = []
    while frame is not None:
        if not str(frame.f_globals.get("__name__", "")).startswith(("torch.", "msprobe.")):
            code = frame.f_code
            found.append(f"{code.co_filename}[{frame.f_lineno}]   {code.co_name}")
        frame = frame.f_back
    return found


def _tensors(
    args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of a call by their argument, and by their place in a list."""
    for name, value in [*((str(i), each) for i, each in enumerate(args)), *kwargs.items()]:
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, (list, tuple)):
            for index, each in enumerate(value):
                if isinstance(each, torch.Tensor):
                    yield f"{name}.{index}", each
