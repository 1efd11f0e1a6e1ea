"""All that watches a run, entered and left as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mindspore import nn

from msprobe_core.capture.threads import ThreadState
from msprobe_core.capture.trace import Trace
from msprobe_core.config import Config
from msprobe_core.mindspore.watch.call_gradients import GradientWatch
from msprobe_core.mindspore.watch.cells import CellWatch, Model, named_cells
from msprobe_core.mindspore.watch.functions import FunctionWatch, primitive_classes
from msprobe_core.mindspore.watch.graph_borders import CompiledCode
from msprobe_core.mindspore.watch.model_calls import TokenRange


class MindSporeWatch:
    """The watches of one step; `start` and `stop` may alternate."""

    def __init__(self, config: Config, trace: Trace) -> None:
        self._trace, self._threads = trace, ThreadState()
        self._gradients = GradientWatch(trace)
        self._records_cells = config.records_modules
        self._cells = CellWatch(trace, self._threads, self._gradients)
        self._calls: FunctionWatch | None = None
        if config.records_calls:
            self._calls = FunctionWatch(trace, self._threads, self._gradients)
        self._compiled = CompiledCode(self._leave, self._enter, self._calls)
        self._single: CellWatch | None = None
        self._singles: list[CellWatch] = []
        self._primitives: set[type] = set()
        self._is_on = False

    def start(self, model: Model | None) -> None:
        """Watch from here on."""
        self._threads.begin()
        if model is not None:
            cells = [cell for _, cell in named_cells(model)]
            if self._calls is not None:
                self._calls.find(cells)
                self._primitives = primitive_classes(cells)
            if self._records_cells:
                self._cells.find(model)
        self._is_on = True
        self._enter()
        self._compiled.start()

    def stop(self) -> None:
        """Leave everything as it was before `start`, whatever of it fails."""
        self._is_on = False
        for stop in (self._compiled.stop, self.end_single, self._leave):
            self._trace.safely("the end of a recording", stop)

    def count_calls(self, model: nn.Cell, first: int, last: int) -> TokenRange:
        """What watches those calls of the model alone, counted from 0; both ends are included."""
        return TokenRange(model, first, last, self.start, self.stop, self._trace)

    def place(self, _model: Model | None, _parallel: Mapping[str, object] | None) -> None:
        """MindSpore's parallel runs are not told apart from others yet."""

    def notes(self) -> dict[str, str]:
        """Nothing is said of a step beside its entries."""
        return {}

    def begin_single(self, cell: Any, name: str) -> None:
        """Record one cell by a name of the user's, and nothing else, until `end_single`."""
        self.end_single()
        self._threads.muted = True
        self._single = CellWatch(self._trace, self._threads, self._gradients)
        self._single.find_one(cell, name)
        self._single.start()
        self._singles.append(self._single)

    def end_single(self) -> None:
        """Record everything again."""
        if self._single is not None:
            self._single.stop()
            self._single = None
        self._threads.muted = False

    def forget(self) -> None:
        """The step has ended: hold nothing of it."""
        self._gradients.forget()
        for watch in (self._cells, *self._singles):
            watch.forget()
        self._singles.clear()
        if self._calls is not None:
            self._calls.forget()

    def _enter(self) -> None:
        """Replace what is watched; not where the recording ended in between."""
        if self._is_on:
            self._cells.start()
            if self._calls is not None:
                self._calls.start(self._primitives)

    def _leave(self) -> None:
        """Put back what is watched."""
        if self._calls is not None:
            self._calls.stop()
        self._cells.stop()
