"""A step of PrecisionDebugger with `"capture": "graph"`, as the lifecycle sees it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from msprobe_core.config import Config
from msprobe_core.config.slices import Slice
from msprobe_core.errors import LifecycleError
from msprobe_core.torch.graph.graph_capture import GraphCapture
from msprobe_core.torch.graph.log import GraphLog
from msprobe_core.torch.graph.step_dump import StepDump
from msprobe_core.torch.parallel import parallel_header
from msprobe_core.torch.watch.model_modules import Model


class GraphStepRecorder:
    """Records one step through a capture that outlives it. Raises OSError."""

    slices: tuple[Slice, ...] = ()
    saved_tensors = 0

    def __init__(self, config: Config, step: int, rank: int | None, capture: GraphCapture) -> None:
        self.running = False
        self.notes: dict[str, str] = {}
        self._capture = capture
        self._dump = StepDump(config, step, rank)
        capture.log.clear()

    @property
    def directory(self) -> Path:
        """Where the step is written."""
        return self._dump.output.directory

    @property
    def failed(self) -> bool:
        """Whether the disk has ended the dump."""
        return self._dump.output.failed

    @property
    def entry_count(self) -> int:
        """How many entries the step has."""
        return self._dump.trace.entry_count

    def start(
        self,
        model: Model | None,
        tokens: tuple[int, int] | None,
        parallel: Mapping[str, object] | None = None,
    ) -> None:
        """Hook the model if it is not hooked yet, and keep what its graphs record."""
        if tokens is not None:
            raise LifecycleError(
                "token_range counts calls of the model, which graph mode does not see; choose "
                'steps with step, or set "capture": "eager"'
            )
        header = parallel_header(model, parallel)
        if header is not None:
            self.notes["parallel"] = header
        self._capture.start(model)
        self.running = True

    def stop(self) -> None:
        """Keep gradients only; they are recorded until the step ends."""
        self._capture.pause()
        self.running = False

    def save(self, variable: object, name: str, save_backward: bool) -> None:
        """Raise: a graph records what modules and calls make, and no value by a name."""
        raise _not_here(f"save(…, {name!r})")

    def begin_single(self, module: torch.nn.Module, name: str) -> None:
        """Raise: all modules of a graph are recorded; `list` selects some."""
        raise _not_here(f"module_dump(…, {name!r})")

    def end_single(self) -> None:
        """Raise, as its beginning does."""
        raise _not_here("module_dump_end()")

    def complete(self) -> None:
        """Write what the graphs have recorded in this step."""
        rows = self._capture.end_step()
        self.running = False
        log = self._capture.log
        self._dump.notes |= self.notes
        seen = self._dump.write(rows, log.lost, log.errors, self._capture.facts)
        self._capture.say_unseen(seen)
        log.clear()

    def discard(self) -> None:
        """Remove what a completed step has written."""
        self._dump.output.discard()

    def abandon(self, reason: str) -> None:
        """Record no longer and close the files as incomplete; never raises."""
        self._dump.trace.safely("the rows of a graph", self._capture.end_step)
        self.running = False
        self._dump.output.abandon(reason)

    def leave(self) -> None:
        """In a process that was forked: write nothing; never raises."""
        self._dump.trace.leave()
        self._capture.log.switch(forward=False, gradients=False)
        self.running = False


def new_capture(config: Config, served: bool = False) -> GraphCapture:
    """The capture that a configuration asks for; that of a `served` model records the model itself
    and operators of aten. Raises UnsupportedError.
    """
    log = GraphLog(config.sketch, config.precision == "high")
    late = config.graph_points == "late"
    modules, calls = config.records_modules, config.records_calls
    return GraphCapture(modules, calls, served, log, config.risk_level, late, config.grad_inputs)


def _not_here(call: str) -> LifecycleError:
    return LifecycleError(f'{call} has no meaning in graph mode; set "capture": "eager" for it')
