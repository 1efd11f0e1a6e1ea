"""Records the calls of a model's cells by replacing `Cell.__call__` on the class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mindspore import nn
from mindspore.experimental import optim

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.capture.replacing import Replacements
from msprobe_core.capture.stacks import users_frame
from msprobe_core.capture.threads import ThreadState
from msprobe_core.capture.trace import Trace
from msprobe_core.mindspore.record.call_entries import (
    begin_call,
    end_call,
    write_output,
    write_parameters,
)
from msprobe_core.mindspore.untraced import is_recording_itself
from msprobe_core.mindspore.watch.call_gradients import Begun, GradientWatch
from msprobe_core.mindspore.watch.cell_parameters import ParameterWatch

Model = Any
"""A cell, or a list or tuple of cells."""
# What `cell.recompute()` puts around a cell's content: the same content is seen without them.
_WRAPPERS = frozenset(("_recompute_cell", "wrap_cell"))
OPTIMIZERS = (nn.Optimizer, optim.Optimizer)
"""Those of `mint.optim` are of the second kind."""
_OPTIMIZER = ModuleCall("optimizer", "optimizer", None)


def named_cells(model: Model) -> Iterator[tuple[str, nn.Cell]]:
    """The cells of a model by path, the model itself (of an empty path) among them."""
    every = all_named_cells(model)
    return ((path, cell) for path, cell in every if _WRAPPERS.isdisjoint(path.split(".")))


def all_named_cells(model: Model) -> Iterator[tuple[str, nn.Cell]]:
    """The same with the cells that recomputation puts around others."""
    models: Mapping[str, nn.Cell] = {"": model}
    if isinstance(model, (list, tuple)):
        models = {f"{at}": each for at, each in enumerate(model)}
    for prefix, each in models.items():
        for path, cell in each.cells_and_names():
            yield ".".join(part for part in (prefix, path) if part), cell


class CellWatch:
    """Watches the cells of one step. `_paths` maps the identity of a cell to its path and itself;
    of `_model`, which has no path, only the gradients of its own parameters are recorded.

    `_recomputed` maps the identity of a cell around recomputed content to the owner of its entries,
    and `_again` counts how often that was run again. `_alone` tells that one cell is watched, under
    a name of the user's.
    """

    def __init__(self, trace: Trace, threads: ThreadState, gradients: GradientWatch) -> None:
        self._trace, self._threads, self._gradients = trace, threads, gradients
        self.parameters = ParameterWatch(trace, gradients.after_this_node)
        gradients.at_end.append(self.parameters.end_pass)
        self._paths: dict[int, tuple[str, nn.Cell]] = {}
        self._model: nn.Cell | None = None
        self._recomputed: dict[int, str] = {}
        self._again: dict[str, int] = {}
        self._alone = False
        self._replaced = Replacements()

    def find(self, model: Model) -> None:
        """Take the cells of a model, or of each model of a list."""
        self._paths, self._model = {}, model if isinstance(model, nn.Cell) else None
        for path, cell in named_cells(model):
            if path:
                self._paths.setdefault(id(cell), (path, cell))
        kinds = {path: type(cell).__name__ for path, cell in self._paths.values()}
        for path, cell in all_named_cells(model):
            block, wrapper, _ = path.partition("._recompute_cell")
            if wrapper and block in kinds:
                self._recomputed.setdefault(id(cell), f"Cell.{block}.{kinds[block]}")

    def find_one(self, cell: nn.Cell, name: str) -> None:
        """Watch one cell alone, under a name of the user's."""
        self._paths, self._alone = {id(cell): (name, cell)}, True

    def start(self) -> None:
        """Watch from here on."""
        if self._paths and not self._replaced:
            self._replaced.put(nn.Cell, "__call__", self._watched(nn.Cell.__call__))
            for path, cell in self._paths.values():
                self.parameters.watch(cell, path)
            if self._model is not None:
                self.parameters.watch(self._model, "")

    def stop(self) -> None:
        """Leave the class as it was."""
        self._replaced.restore()

    def forget(self) -> None:
        """The step has ended: hold nothing of the model."""
        self.parameters.forget()
        self._paths, self._model = {}, None

    def _watched(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(cell: nn.Cell, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - torch asks for this name
            known = self._paths.get(id(cell))
            local = self._threads.local
            if isinstance(cell, OPTIMIZERS):
                return self._run_optimizer(inner, cell, args, kwargs)
            muted = self._threads.muted and not self._alone
            block = self._recomputed.get(id(cell))
            if block is not None and not local.running and not self._trace.closed:
                return self._run_again(block, inner, cell, args, kwargs)
            if known is None or local.quiet or muted or is_recording_itself():
                return inner(cell, *args, **kwargs)
            begun = self._trace.safely(known[0], self._begin, cell, known[0], args, kwargs)
            if begun is None:
                return inner(cell, *args, **kwargs)
            call, entry, gradients = begun
            local.running.append(call)
            try:
                result = inner(cell, *args, **kwargs)
            finally:
                local.running.pop()
            self._trace.safely(call.forward, self._end, cell, call, entry, gradients, result)
            return result

        return __call__

    def _run_optimizer(
        self,
        inner: Callable[..., Any],
        cell: nn.Cell,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Run a step of an optimizer, to which all calls inside it belong."""
        local = self._threads.local
        before, local.region = local.region, _OPTIMIZER
        try:
            return inner(cell, *args, **kwargs)
        finally:
            local.region = before

    def _run_again(
        self,
        owner: str,
        inner: Callable[..., Any],
        cell: nn.Cell,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Run recomputed content inside the backward entry of its cell, the last call first."""
        again = self._again[owner] = self._again.get(owner, 0) + 1
        name = f"{owner}.backward.{max(0, self._trace.calls_of(owner) - again)}"
        running = self._threads.local.running
        running.append(ModuleCall(name, name, None))
        try:
            return inner(cell, *args, **kwargs)
        finally:
            running.pop()

    def _begin(
        self, cell: nn.Cell, path: str, args: Sequence[object], kwargs: dict[str, object]
    ) -> tuple[ModuleCall, Entry | None, Begun | None] | None:
        trace = self._trace
        if trace.closed:
            return None
        owner = f"Cell.{path}.{type(cell).__name__}"
        number = trace.next_call(owner)
        parent = self._threads.local.parent()
        call = ModuleCall(f"{owner}.forward.{number}", f"{owner}.backward.{number}", parent)
        call.picked_forward = _picks(trace, call.forward, parent, "picked_forward")
        call.picked_backward = _picks(trace, call.backward, parent, "picked_backward")
        entry = begin_call(trace, call.forward, parent, args, kwargs, users_frame())
        if entry is not None:
            trace.modes.note(call.forward, cell.training)
        if entry is not None and trace.selection.inputs:
            own = {name: each for name, each in cell._params.items() if each is not None}
            write_parameters(trace, entry, own)
        return call, entry, self._gradients.begin(args, kwargs)

    def _end(
        self,
        cell: nn.Cell,
        call: ModuleCall,
        entry: Entry | None,
        begun: Begun | None,
        result: object,
    ) -> None:
        if entry is not None:
            write_output(self._trace, entry, result)
        end_call(self._trace, call.forward, entry, call.parent)
        self._gradients.end(begun, result, call.backward, call.parent, call)


def _picks(trace: Trace, name: str, parent: ModuleCall | None, way: str) -> bool:
    around = parent is not None and bool(getattr(parent, way))
    return around or trace.selection.expands(name)
