"""A call of a module that runs, and one of a module that is compiled in place."""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.torch.watch.gradients import Begun


class RunningModule:
    """A module call between its two hooks."""

    __slots__ = ("begun", "call", "entered", "entry", "frame", "module", "parameters")

    def __init__(
        self,
        module: torch.nn.Module,
        call: ModuleCall,
        entry: Entry | None,
        begun: Begun,
    ) -> None:
        self.module, self.call, self.entry, self.begun = module, call, entry, begun
        self.entered = False
        self.parameters: Entry | None = None
        self.frame: FrameType | None = None

    @property
    def is_over(self) -> bool:
        """Whether the call has ended without its hook: Ctrl-C skips those of torch."""
        if self.frame is None:
            return False
        try:
            self.frame.clear()  # refused while it runs
        except RuntimeError:
            return False
        return True


class CompiledBorder:
    """A call of a module that is compiled in place; `running` once compiled code has begun."""

    __slots__ = ("args", "kwargs", "module", "path", "running")

    def __init__(
        self, path: str, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.path, self.module, self.args, self.kwargs = path, module, args, kwargs
        self.running: RunningModule | None = None
