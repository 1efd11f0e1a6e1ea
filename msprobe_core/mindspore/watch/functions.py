"""Records calls of MindSpore's functions by replacing them where users find them.

Plain functions of `mint`, `mint.nn.functional`, `ops` and the collectives, methods of `Tensor`, and
the primitives that are attributes of the model's cells. A name that a user's module has imported by
value (`from mindspore.ops import tanh`) is replaced there as well.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from mindspore import nn, ops

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.capture.replacing import Function, Replacements
from msprobe_core.capture.stacks import users_frame
from msprobe_core.capture.threads import ThreadState
from msprobe_core.capture.trace import Trace
from msprobe_core.mindspore.function_spaces import spaces
from msprobe_core.mindspore.record.call_entries import begin_call, end_call, write_output
from msprobe_core.mindspore.untraced import is_recording_itself
from msprobe_core.mindspore.watch.call_gradients import Begun, GradientWatch
from msprobe_core.mindspore.watch.imported_names import IMPORTED
from msprobe_core.mindspore.watch.stand_ins import SHARED, StandIns, like

_COLLECTIVES = "MintDistributed"


class FunctionWatch:
    """Watches the calls of one step. `_primitives` names those of the model by identity."""

    def __init__(self, trace: Trace, threads: ThreadState, gradients: GradientWatch) -> None:
        self._trace, self._threads, self._gradients = trace, threads, gradients
        self._replaced = Replacements()
        self._primitives: dict[int, str] = {}
        self._stand_ins = SHARED
        self._copies: list[tuple[ModuleType, str]] | None = None

    def find(self, cells: Iterable[nn.Cell]) -> None:
        """Take the primitives that are attributes of some cells."""
        for cell in cells:
            for name, value in vars(cell).items():
                if isinstance(value, ops.Primitive):
                    self._primitives[id(value)] = f"Primitive.{name}.{type(value).__name__}"

    def start(self, primitives: Iterable[type]) -> None:
        """Watch from here on; `primitives` are the classes of those that were found."""
        if self._replaced:
            return
        self._stand_ins = SHARED if SHARED.recording is None else StandIns()
        self._stand_ins.recording = self
        by_value: dict[int, Function] = {}
        for space in spaces():
            for name in space.names:
                original, watched = self._stand_ins.of(space, name)
                self._replaced.put(space.owner, name, watched)
                if isinstance(space.owner, ModuleType):
                    by_value.setdefault(id(original), watched)
        self._replace_copies(by_value)
        for kind in primitives:
            self._replaced.put(kind, "__call__", self._watched_primitive(kind.__call__))

    def stop(self) -> None:
        """Leave all functions as they were."""
        self._replaced.restore()
        if self._stand_ins.recording is self:
            self._stand_ins.recording = None

    def forget(self) -> None:
        """The step has ended: hold nothing of the model."""
        self._primitives.clear()

    def call(self, owner: str, run: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function as a recorded call; what it calls itself is part of it."""
        local = self._threads.local
        if local.quiet or self._threads.muted or is_recording_itself() or self._trace.closed:
            return run(*args, **kwargs)
        begun = self._trace.safely(owner, self._begin, owner, args, kwargs)
        if begun is None:
            return run(*args, **kwargs)
        local.quiet += 1
        try:
            result = run(*args, **kwargs)
        finally:
            local.quiet -= 1
        self._trace.safely(owner, self._end, begun, args, result)
        return result

    def _begin(
        self, owner: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[str, str, ModuleCall | None, Entry | None, Begun | None]:
        trace = self._trace
        name = f"{owner}.{trace.next_call(owner)}"
        parent = self._threads.local.parent()
        entry = begin_call(trace, f"{name}.forward", parent, args, kwargs, users_frame())
        return owner, name, parent, entry, self._gradients.begin(args, kwargs)

    def _end(
        self,
        begun: tuple[str, str, ModuleCall | None, Entry | None, Begun | None],
        args: tuple[Any, ...],
        result: object,
    ) -> None:
        owner, name, parent, entry, gradients = begun
        trace = self._trace
        if _writes(owner) and args:
            trace.book.written(args[0])
        if entry is not None:
            # What a collective puts out stands in the tensors that it was given.
            write_output(trace, entry, args if owner.startswith(_COLLECTIVES) else result)
        end_call(trace, f"{name}.forward", entry, parent)
        self._gradients.end(gradients, result, f"{name}.backward", parent)

    def _watched_primitive(self, original: Function) -> Function:
        def __call__(primitive: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - torch asks for this name
            owner = self._primitives.get(id(primitive))
            if owner is None:
                return original(primitive, *args, **kwargs)
            run = functools.partial(original, primitive)
            return self.call(owner, run, args, kwargs)

        return like(original, __call__)

    def _replace_copies(self, by_value: dict[int, Function]) -> None:
        """Replace the functions in modules of the user's that have imported them by name.

        They are looked for once in a step, which starts anew behind each piece of compiled code.
        """
        if self._copies is None:
            self._copies = IMPORTED.of(by_value)
        for module, attribute in self._copies:
            watched = by_value.get(id(vars(module).get(attribute)))
            if watched is not None:
                self._replaced.put(module, attribute, watched)


def primitive_classes(cells: Iterable[nn.Cell]) -> set[type]:
    """The classes of the primitives that are attributes of some cells."""
    values = (value for cell in cells for value in vars(cell).values())
    return {type(value) for value in values if isinstance(value, ops.Primitive)}


def _writes(owner: str) -> bool:
    """Whether a call writes into the tensor that it is called on."""
    name = owner.rpartition(".")[2]
    return (
        name == "__setitem__"
        or name.startswith("__i")
        or (name.endswith("_") and not name.endswith("__"))
    )
