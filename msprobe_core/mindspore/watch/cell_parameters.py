"""Records the gradients of cells' own parameters, by hooks that are taken off at the step's end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mindspore import nn

from msprobe_core.capture.entry import Entry
from msprobe_core.capture.trace import Trace
from msprobe_core.mindspore.record.call_entries import write_named

Later = Callable[[Callable[[], None]], None]
"""Puts off the writing of an entry until the node that runs has ended."""


class ParameterWatch:
    """Hooks each parameter once per step and cell that has it.

    A hook fires once per backward pass with the accumulated gradient, and never for a parameter
    that is frozen or not asked for.
    """

    def __init__(self, trace: Trace, later: Later) -> None:
        self._trace, self._later = trace, later
        self._hooked: set[tuple[int, str]] = set()
        self._handles: list[Any] = []
        self._cells: dict[str, _CellParameters] = {}

    def watch(self, cell: nn.Cell, path: str) -> None:
        """Record the gradients of the cell's own parameters in the backward to come."""
        for name, parameter in cell._params.items():
            if parameter is None or not parameter.requires_grad:
                continue
            if (id(parameter), path) in self._hooked:
                continue
            owner = self._cells.get(path)
            if owner is None:
                kind = ".".join(part for part in ("Cell", path, type(cell).__name__) if part)
                owner = self._cells[path] = _CellParameters(self._trace, kind, self._later)
            self._handles.append(parameter.register_hook(owner.hook(name)))
            owner.expected += 1
            self._hooked.add((id(parameter), path))

    def end_pass(self) -> None:
        """A backward pass has ended: write what is still open."""
        for cell in self._cells.values():
            self._trace.safely("gradients of parameters", cell.finish)

    def forget(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            self._trace.safely("the hooks of parameters", handle.remove)
        self._handles.clear()
        self._hooked.clear()
        self._cells.clear()


class _CellParameters:
    """The parameter gradients of one cell: entry n holds the n-th firing of each hook."""

    def __init__(self, trace: Trace, owner: str, later: Later) -> None:
        self._trace, self._owner, self._later = trace, owner, later
        self._entries: dict[int, Entry] = {}
        self._fired: dict[int, int] = {}
        self.expected = 0

    def hook(self, name: str) -> Callable[[Any], None]:
        """What is called with the gradient of one parameter; it never raises.

        An exception in a hook would leave the parameter broken for the whole process.
        """
        count = 0

        def fire(gradient: Any) -> None:
            nonlocal count
            if self._trace.closed:
                return
            count += 1
            self._trace.safely(
                f"gradient of {self._owner}.{name}", self._add, count, name, gradient
            )

        return fire

    def _add(self, number: int, name: str, gradient: Any) -> None:
        """Add to entry `number`, counted from 1, which stands where the last of them fires."""
        entry = self._entries.get(number)
        if entry is None:
            entry = self._entries[number] = Entry(f"{self._owner}.parameters_grad.{number - 1}")
        write_named(self._trace, entry, name, gradient)
        self._fired[number] = self._fired.get(number, 0) + 1
        if self._fired[number] == self.expected:
            self._later(partial(self._finish, number))

    def finish(self) -> None:
        """Write the entries of which some parameters got no gradient."""
        for number in sorted(self._entries):
            if self._fired[number] < self.expected:
                self._later(partial(self._finish, number))

    def _finish(self, number: int) -> None:
        entry, selection = self._entries.pop(number), self._trace.selection
        if selection.backward and selection.outputs and selection.wants(entry.name, False):
            self._trace.add(entry)
