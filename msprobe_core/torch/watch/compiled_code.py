"""Lets compiled code run as without a recording: nothing of ours is there while it runs.

Dynamo would trace hooks and modes into the user's graphs, refuse them, or compile again without
them later. What tells when compiled code begins and ends is dynamo's own switch, which every
function and module that `torch.compile` returned turns on and off.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

import torch

from msprobe_core.capture.replacing import Replacements

_DYNAMO = "torch._dynamo.eval_frame"
_CAPTURES = (
    ("torch._dynamo.functional_export", "dynamo_graph_capture_for_export"),
    ("torch._dynamo.functional_export", "_dynamo_graph_capture_for_export"),
    ("torch._dynamo.aot_compile", "aot_compile_fullgraph"),
)
"""Functions that trace code and turn no switch: export and ahead-of-time compilation. Those of
export return what traces.
"""
_SWITCHES = ("_maybe_set_eval_frame", "set_eval_frame")  # the second before torch 2.6


class CompiledCode:
    """Calls `begin` where a thread enters compiled code and `end` where it leaves it."""

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._begin, self._end = begin, end
        self._replaced = Replacements()
        self._inside = _Inside()

    def start(self) -> None:
        """Watch dynamo's switch, as soon as there is one."""
        if self._replaced:
            return
        frames = sys.modules.get(_DYNAMO)
        if frames is not None:
            self._watch(frames)
            return
        original = torch.compile

        @functools.wraps(original)
        def compile_and_watch(*args: Any, **kwargs: Any) -> Any:
            __import__(_DYNAMO)
            self.stop()
            self.start()
            return original(*args, **kwargs)

        self._replaced.put(torch, "compile", compile_and_watch)

    def stop(self) -> None:
        """Put the originals back."""
        self._replaced.restore()
        self._inside = _Inside()

    @property
    def runs(self) -> bool:
        """Whether this thread is in compiled code."""
        return self._inside.is_capturing or self._inside.since is not None

    def _watch(self, frames: Any) -> None:
        _leave_out_of_graphs()
        name = next((each for each in _SWITCHES if hasattr(frames, each)), None)
        if name is None:
            return
        original = getattr(frames, name)

        def switch(callback: Any) -> Any:
            self._switched(callback is not None, sys._getframe(1))
            return original(callback)

        self._replaced.put(frames, name, switch)
        self._replaced.put(frames.OptimizedModule, "__call__", _call_without_a_warning)
        for place, name in _CAPTURES:
            module = _loaded(place)
            if module is not None and hasattr(module, name):
                self._replaced.put(module, name, self._capturing(getattr(module, name)))

    def _capturing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def capture(*args: Any, **kwargs: Any) -> Any:
            inside = self._inside
            if self.runs or not self._replaced:
                return original(*args, **kwargs)
            inside.is_capturing = True
            self._begin()
            try:
                result = original(*args, **kwargs)
            finally:
                inside.is_capturing = False
                self._end()
            return self._capturing(result) if isinstance(result, FunctionType) else result

        return capture

    def _switched(self, on: bool, caller: FrameType) -> None:
        """What has turned the switch on ends compiled code, not what runs uncompiled inside it.

        A graph that was compiled is among the latter: it runs with the switch off. Who began to
        watch inside of compiled code has not seen it turned on, but what runs uncompiled turn it on
        again: a frame that has returned since then cannot turn it off.
        """
        inside = self._inside
        if inside.is_capturing:
            return
        if inside.since is None:
            if on:
                inside.since, inside.by_with = id(caller), caller.f_code.co_name == "__enter__"
                self._begin()
            return
        has_returned = not inside.by_with and not _runs(inside.since, caller)
        if on and has_returned:
            inside.since = id(caller)
        elif has_returned or inside.since == id(caller) or _leaves_a_context(on, caller):
            inside.since = None
            self._end()


def _runs(identity: int, frame: FrameType | None) -> bool:
    """Whether a frame is this one or among its callers."""
    while frame is not None and id(frame) != identity:
        frame = frame.f_back
    return frame is not None


def _leaves_a_context(on: bool, caller: FrameType) -> bool:
    """Whether a `with` turns the switch off."""
    return not on and caller.f_code.co_name == "__exit__"


_NOT_IN_GRAPHS = (
    *("msprobe_core.capture", "msprobe_core.writer", "msprobe_core.values"),
    *("msprobe_core.torch.torch_watch", "msprobe_core.torch.watch", "msprobe_core.torch.levels"),
    *("msprobe_core.torch.intervene", "msprobe_core.torch.record", "msprobe_core.torch.memory"),
    *("msprobe_core.torch.measure", "msprobe_core.torch.names"),
    *("msprobe_core.monitor", "msprobe_core.torch.monitor"),
    *("msprobe.pytorch.monitor", "msprobe.core.monitor_v2"),
)
"""All that hooks run, by name: both monitors lie above; `torch.graph` is made to be traced."""


class _Inside(threading.local):
    since: int | None = None
    """The identity of the frame that has turned the switch on; it runs as long."""
    by_with: bool = False
    """Whether that frame was a context's `__enter__`, which has returned."""
    is_capturing: bool = False


def _loaded(name: str) -> Any:
    """A module of dynamo's, loaded now: later it would take our stand-ins by name and keep them."""
    try:
        return importlib.import_module(name)
    except ImportError:  # another version of torch
        return None


def _call_without_a_warning(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    """Torch's own warns of hooks on all modules; these are not there while the module runs."""
    return torch.nn.Module.__call__(module, *args, **kwargs)


@functools.lru_cache(maxsize=1)
def _leave_out_of_graphs() -> None:
    """Tell dynamo that this package is none of the user's code, as its own packages are not.

    It meets our hooks where a backward pass runs between two parts of compiled code.
    """
    rules: Any = sys.modules.get("torch._dynamo.trace_rules")
    if rules is not None and hasattr(rules, "add"):
        for package in _NOT_IN_GRAPHS:
            rules.add(package)
