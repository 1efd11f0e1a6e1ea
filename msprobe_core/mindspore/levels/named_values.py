"""Records single values that the user's code names: `debugger.save(value, "name")`.

At level debug nothing else is recorded: they stand in debug.json, each as a whole value, and their
gradients in the same shape. At the other levels they are entries of dump.json among the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindspore import Tensor

from msprobe_core.capture.entry import Entry
from msprobe_core.capture.trace import Trace
from msprobe_core.format import (
    api_entry,
    nth_pass,
    saved_entry,
    saved_gradient_entry,
)
from msprobe_core.mindspore.record.call_entries import (
    end_call,
    guarded,
    write_list,
    write_output,
    write_value,
)
from msprobe_core.mindspore.watch.autograd_graph import edge_of, is_leaf, tensors_in
from msprobe_core.values.arguments import Fragment
from msprobe_core.values.text import quoted

_PREFIX = "Debug"
_DEEPEST = 12
OnGradient = Callable[[Any, int], None]
"""Takes the gradient of a value, and the number of the backward pass from 1."""


class SavedValues:
    """Writes the values of one step. `alone` tells that nothing else is recorded."""

    def __init__(self, trace: Trace, alone: bool) -> None:
        self._trace, self._alone = trace, alone
        self._handles: list[Any] = []

    def save(self, variable: object, name: str, save_backward: bool) -> None:
        """Write a value by its name and, unless told otherwise, its gradient once it arrives."""
        write = self._save_alone if self._alone else self._save_entry
        self._trace.safely(f"save {name}", write, variable, name, save_backward)

    def forget(self) -> None:
        """Take the hooks off those that live on."""
        for handle in self._handles:
            self._trace.safely("the hooks of saved values", handle.remove)
        self._handles.clear()

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
            self._await(variable, gradients.name, gradients, 0)
            trace.add(gradients)

    def _await(self, value: object, path: str, entry: Entry, depth: int) -> None:
        """Write the shape of a value with a place for each gradient that may arrive."""
        if isinstance(value, Tensor):
            place = _Place(self._trace, path)
            if self._watch(value, place.fill):
                entry.open += 1  # until the step ends: of several passes the last one stays
            entry.parts.append(place)
            return
        is_mapping = isinstance(value, dict)
        if not isinstance(value, (list, tuple, dict)) or depth == _DEEPEST:
            entry.parts.append("null")
            return
        members = value.items() if isinstance(value, dict) else enumerate(value)
        entry.parts.append("{" if is_mapping else "[")
        for at, (key, member) in enumerate(members):
            name = f"{quoted(str(key))}: " if is_mapping else ""
            entry.parts.append((", " if at else "") + name)
            self._await(member, f"{path}.{key}", entry, depth + 1)
        entry.parts.append("}" if is_mapping else "]")

    def _save_entry(self, variable: object, name: str, save_backward: bool) -> None:
        trace = self._trace
        number = trace.next_call(f"{_PREFIX}.{name}")
        entry = Entry(api_entry(_PREFIX, name, number, "forward"), trace.capture_caller())
        entry.parts.append('"input_args": [], "input_kwargs": {}')
        write_output(trace, entry, [variable])
        end_call(trace, entry.name, entry, None)
        for position, tensor in enumerate(tensors_in(variable) if save_backward else ()):
            own = f"{name}_{position}" if position else name
            backward = api_entry(_PREFIX, own, number, "backward")
            self._watch(tensor, self._entry_writer(backward))

    def _entry_writer(self, name: str) -> OnGradient:
        def write(gradient: Any, number: int) -> None:  # noqa: ANN401
            entry = Entry(nth_pass(name, number))
            self._trace.place_backward(entry.name, None)
            write_list(self._trace, entry, "input", [gradient])
            write_list(self._trace, entry, "output", [])
            self._trace.add(entry)

        return write

    def _watch(self, tensor: Tensor, on_gradient: OnGradient) -> bool:
        """Call back with each gradient of a tensor; whether it can have one."""
        edge, passes = edge_of(tensor), 0
        if edge is None:
            return False

        def arrives(gradient: Any) -> None:  # noqa: ANN401
            nonlocal passes
            if gradient is not None and not self._trace.closed:
                passes += 1
                self._trace.safely("the gradient of a saved value", on_gradient, gradient, passes)

        def hook(received: Any) -> None:  # noqa: ANN401
            arrives(received[edge.slot] if edge.slot < len(received) else None)

        if is_leaf(edge.node):  # hooks on the nodes of leaves never fire
            self._handles.append(tensor.register_hook(arrives))
        else:
            edge.node.register_prehook(hook)
        return True


class _Place:
    """A gradient that is written when it arrives; null until then."""

    def __init__(self, trace: Trace, path: str) -> None:
        self._trace, self._path = trace, path
        self._text: Fragment = "null"
        self.abnormal = False

    def __str__(self) -> str:
        return str(self._text)

    def fill(self, gradient: Any, _: int) -> None:  # noqa: ANN401
        """Take the gradient; of several, the last one stays."""
        holder = Entry(self._path)
        guarded(self._trace, holder, "input", "null", _fill, gradient)
        if holder.parts:
            self._text, self.abnormal = holder.parts[0], holder.abnormal


def _fill(trace: Trace, entry: Entry, gradient: Any) -> None:  # noqa: ANN401
    entry.parts.append(trace.book.record(gradient, entry.name))
