"""Regions beside the model that own calls: optimizer steps and gradient clipping."""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from msprobe_core.capture.entry import ModuleCall
from msprobe_core.capture.threads import ThreadState
from msprobe_core.torch.memory.memory_trace import MemoryTrace

_MAX_FRAMES = 12


def _codes_of(*functions: Any) -> frozenset[int]:  # noqa: ANN401
    codes = []
    for function in functions:
        inner = getattr(function, "__wrapped__", function)
        codes += [id(function.__code__), id(inner.__code__)]
    return frozenset(codes)


_CLIPPING = _codes_of(
    torch.nn.utils.clip_grad_norm_,
    torch.nn.utils.clip_grad_value_,
    *(
        getattr(torch.nn.utils, name)
        for name in ("get_total_norm", "clip_grads_with_norm_")
        if hasattr(torch.nn.utils, name)
    ),
)


class RegionWatch:
    """Sets the region of a thread while an optimizer steps, and tells clipping by its frames."""

    def __init__(self, threads: ThreadState, trace: MemoryTrace) -> None:
        self._threads, self._trace = threads, trace
        self.optimizer = ModuleCall("optimizer", "optimizer", None)
        self.clipping = ModuleCall("clip_grad", "clip_grad", None)
        self._handles: list[Any] = []

    def start(self) -> None:
        """Hook the steps of all optimizers."""
        self.stop()
        self._handles = [
            register_optimizer_step_pre_hook(self._enter),
            register_optimizer_step_post_hook(self._leave),
        ]

    def stop(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def region_of(self, frame: FrameType | None) -> ModuleCall | None:
        """The open region, or `clip_grad` when one of the nearest frames clips gradients."""
        if not self._trace.nested:
            return None
        region = self._threads.local.region
        if region is not None:
            return region
        for _ in range(_MAX_FRAMES):
            if frame is None:
                break
            if id(frame.f_code) in _CLIPPING:
                return self.clipping
            frame = frame.f_back
        return None

    def _enter(self, *_: object) -> None:
        self._threads.local.region = self.optimizer

    def _leave(self, *_: object) -> None:
        self._threads.local.region = None
        self._trace.book.forget_records()  # fused steps may leave versions as they were
