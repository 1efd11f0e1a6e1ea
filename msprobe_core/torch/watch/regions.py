"""Regions beside the model that own calls: optimizer steps and gradient clipping."""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch

from msprobe_core.capture.entry import ModuleCall
from msprobe_core.torch.gradients.steps import Step, StepListener, StepWatch
from msprobe_core.torch.memory.memory_trace import MemoryTrace
from msprobe_core.torch.parallel import OptimizerWatch

_MAX_FRAMES = 12


def _codes_of(*functions: Any) -> frozenset[int]:
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


class RegionWatch(StepListener):
    """Tells which calls an optimizer's step makes, and which clip, and has steps recorded.

    What a closure calls is the user's program as it is without one.
    """

    def __init__(self, trace: MemoryTrace, optimizers: OptimizerWatch) -> None:
        self._trace, self._optimizers = trace, optimizers
        self.optimizer = ModuleCall("optimizer", "optimizer", None)
        self.clipping = ModuleCall("clip_grad", "clip_grad", None)
        self._steps = StepWatch(self, every=True)

    def start(self) -> None:
        """Hook the steps of all optimizers."""
        self._steps.start()
        self._optimizers.start()

    def stop(self) -> None:
        """Remove the hooks."""
        self._optimizers.stop()
        self._steps.stop()

    def region_of(self, frame: FrameType | None) -> ModuleCall | None:
        """The open region, or `clip_grad` when one of the nearest frames clips gradients."""
        if not self._trace.nested:
            return None
        if self._steps.inside():
            return self.optimizer
        for _ in range(_MAX_FRAMES):
            if frame is None:
                break
            if id(frame.f_code) in _CLIPPING:
                return self.clipping
            frame = frame.f_back
        return None

    def takes(self, step: Step) -> None:
        """Called by the watch of steps."""
        self._optimizers.takes(step)

    def ends(self, step: Step) -> None:
        """Called by the watch of steps."""
        self._optimizers.ends(step)
        self._trace.book.forget_records()  # fused steps may leave versions as they were
