"""Records single values that the user's code names: `debugger.save(value, "name")`.

At level debug nothing else is recorded: they stand in debug.json, each as a whole value, and their
gradients in the same shape. At the other levels they are entries of dump.json among the others.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.autograd.graph import Node
from torch.utils.hooks import RemovableHandle

from msprobe_core.capture.entry import Entry
from msprobe_core.capture.trace import Trace
from msprobe_core.format import api_entry, nth_pass, saved_entry, saved_gradient_entry
from msprobe_core.torch.record.entries import (
    close_forward,
    tensor_text,
    untraced,
    write_list,
    write_value,
)
from msprobe_core.torch.watch.gradients import record_backward
from msprobe_core.torch.watch.graph import edge_of, members_of, tensors_in
from msprobe_core.values.arguments import Fragment
from msprobe_core.values.text import quoted

_PREFIX = "Debug"
_DEEPEST = 12
OnGradient = Callable[[torch.Tensor, int], None]
"""Takes the gradient of a value, and the number of the backward pass from 1."""


class SavedValues:
    """Writes the values of one step. `alone` tells that nothing else is recorded.

    The nodes of leaves are held until the step ends: nothing else may hold them before the leaf
    is used.
    """

    def __init__(self, trace: Trace, alone: bool) -> None:
        self._trace, self._alone = trace, alone
        self._leaves: list[Node] = []
        self._handles: list[RemovableHandle] = []

    def save(self, variable: object, name: str, save_backward: bool) -> None:
        """Write a value by its name and, unless told otherwise, its gradient once it arrives."""
        write = self._save_alone if self._alone else self._save_entry
        try:
            with untraced():
                write(variable, name, save_backward)
        except Exception as error:  # nothing of this may reach the user's step
            self._trace.report(f"save {name}", error)

    def forget(self) -> None:
        """Hold no node of the graph any more, and take the hooks off those that live on."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._leaves.clear()

    def _save_alone(self, variable: object, name: str, save_backward: bool) -> None:
        trace = self._trace
        number = trace.next_call(f"{_PREFIX}.{name}")
        entry = Entry(saved_entry(name, number), trace.capture_caller())
        entry.is_value = True
        write_value(trace, entry, variable)
        trace.add(entry)
        if save_backward:
            gradients = Entry(saved_gradient_entry(name, number))
            gradients.is_value = True
            self._await(variable, gradients.name, gradients)
            trace.add(gradients)

    def _await(self, value: object, path: str, entry: Entry, depth: int = 0) -> None:
        """Write the shape of a value with a place for each gradient that may arrive."""
        parts = entry.parts
        if isinstance(value, torch.Tensor):
            place = _Place()
            if self._watch(value, place.filler(self._trace, path)):
                entry.open += 1  # until the step ends: of several passes the last one stays
            parts.append(place)
            return
        members = members_of(value) if depth < _DEEPEST else None
        if members is None:
            parts.append("null")
            return
        listed = isinstance(value, (list, tuple))
        parts.append("[" if listed else "{")
        for at, (key, member) in enumerate(members):
            parts.append((", " if at else "") + ("" if listed else f"{quoted(key)}: "))
            self._await(member, f"{path}.{key}", entry, depth + 1)
        parts.append("]" if listed else "}")

    def _save_entry(self, variable: object, name: str, save_backward: bool) -> None:
        trace = self._trace
        number = trace.next_call(f"{_PREFIX}.{name}")
        entry = Entry(api_entry(_PREFIX, name, number, "forward"), trace.capture_caller())
        entry.parts.append('"input_args": [], "input_kwargs": {}')
        write_list(trace, entry, "output", [variable])
        close_forward(trace, entry)
        trace.place_forward(entry.name, None)
        tensors = (each for each in tensors_in(variable) if isinstance(each, torch.Tensor))
        for position, tensor in enumerate(tensors if save_backward else ()):
            own = f"{name}_{position}" if position else name
            backward = api_entry(_PREFIX, own, number, "backward")
            self._watch(tensor, _entry_writer(trace, backward))

    def _watch(self, tensor: torch.Tensor, on_gradient: OnGradient) -> bool:
        """Call back with each gradient of a tensor; whether it can have one."""
        trace, passes = self._trace, 0
        with torch.enable_grad():
            edge = edge_of(tensor)
        if edge is None:
            return False
        node, slot = edge

        def hook(received: tuple[torch.Tensor | None, ...]) -> None:
            nonlocal passes
            gradient = received[slot] if slot < len(received) else None
            if gradient is None or trace.closed:
                return
            passes += 1
            try:
                on_gradient(gradient, passes)
            except Exception as error:  # nothing of this may reach the user's step
                trace.report("the gradient of a saved value", error)

        handle = node.register_prehook(hook)
        if tensor.is_leaf:
            self._leaves.append(node)
            self._handles.append(handle)
        return True


class _Place:
    """A gradient that is written when it arrives; null until then."""

    def __init__(self) -> None:
        self._text: Fragment = "null"
        self.abnormal = False

    def __str__(self) -> str:
        return str(self._text)

    def filler(self, trace: Trace, path: str) -> OnGradient:
        """What takes the gradient; of several, the last one stays."""

        def fill(gradient: torch.Tensor, _: int) -> None:
            self._text, self.abnormal = tensor_text(trace, gradient, path, "input")

        return fill


def _entry_writer(trace: Trace, name: str) -> OnGradient:
    def write(gradient: torch.Tensor, number: int) -> None:
        entry = nth_pass(name, number)
        trace.place_backward(entry, None)
        record_backward(trace, entry, False, (gradient,), ())

    return write
