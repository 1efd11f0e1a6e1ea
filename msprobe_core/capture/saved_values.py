"""Records single values that the user's code names: `debugger.save(value, "name")`.

At level debug nothing else is recorded: they stand in debug.json, each as a whole value, and their
gradients in the same shape. At the other levels they are entries of dump.json among the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from msprobe_core.capture.entry import Entry
from msprobe_core.capture.trace import Trace
from msprobe_core.format import api_entry, nth_pass, saved_entry, saved_gradient_entry
from msprobe_core.values.arguments import Fragment
from msprobe_core.values.text import quoted

_PREFIX = "Debug"
_DEEPEST = 12
OnGradient = Callable[[Any], None]
"""Takes each gradient of a tensor that arrives, None where a pass brings it none."""


class ValueWriter(Protocol):
    """What saving a value asks of a framework; it writes into the trace of one step."""

    def untraced(self) -> AbstractContextManager[object]:
        """What runs inside is seen by nothing of the user's."""
        ...

    def is_tensor(self, value: object) -> bool: ...

    def members_of(self, value: object) -> Sequence[tuple[str, object]] | None:
        """The members of a container with their keys; None for what is none."""
        ...

    def tensors_in(self, value: object) -> Iterable[Any]:
        """The tensors of a value and of the containers in it, in order."""
        ...

    def watch(self, tensor: Any, on_gradient: OnGradient) -> bool:
        """Call back with each gradient of a tensor; whether it can have one."""
        ...

    def write_value(self, entry: Entry, value: object) -> None:
        """Write one value as the whole of an entry."""
        ...

    def write_output(self, entry: Entry, value: object) -> None:
        """Write a value as what an entry puts out."""
        ...

    def end_call(self, entry: Entry) -> None:
        """Hand over a forward entry and note that it stands in no module."""
        ...

    def write_gradient(self, name: str, gradient: Any) -> None:
        """Write the backward entry of that name, which takes a gradient and sends none on."""
        ...

    def gradient_text(self, gradient: Any, path: str) -> tuple[Fragment, bool]:
        """The record of a gradient, and whether it is abnormal."""
        ...

    def forget(self) -> None:
        """Hold no node of the graph any more, and take the hooks off those that live on."""
        ...


class SavedValues:
    """Writes the values of one step. `alone` tells that nothing else is recorded."""

    def __init__(self, trace: Trace, values: ValueWriter, alone: bool) -> None:
        self._trace, self._values, self._alone = trace, values, alone

    def save(self, variable: object, name: str, save_backward: bool) -> None:
        """Write a value by its name and, unless told otherwise, its gradient once it arrives."""
        self._trace.safely(f"save {name}", self._save, variable, name, save_backward)

    def forget(self) -> None:
        """The step has ended: hold nothing of its graph."""
        self._values.forget()

    def _save(self, variable: object, name: str, save_backward: bool) -> None:
        number = self._trace.next_call(f"{_PREFIX}.{name}")
        write = self._save_alone if self._alone else self._save_entry
        with self._values.untraced():
            write(variable, name, number, save_backward)

    def _save_alone(self, variable: object, name: str, number: int, save_backward: bool) -> None:
        trace = self._trace
        entry = Entry(saved_entry(name, number), trace.capture_caller())
        entry.is_value = True
        self._values.write_value(entry, variable)
        trace.add(entry)
        if save_backward:
            gradients = Entry(saved_gradient_entry(name, number))
            gradients.is_value = True
            self._await(variable, gradients.name, gradients)
            trace.add(gradients)

    def _await(self, value: object, path: str, entry: Entry, depth: int = 0) -> None:
        """Write the shape of a value with a place for each gradient that may arrive."""
        parts = entry.parts
        if self._values.is_tensor(value):
            place = _Place(self._values, path)
            if self._watch(value, place.fill):
                entry.open += 1  # until the step ends: of several passes the last one stays
            parts.append(place)
            return
        members = self._values.members_of(value) if depth < _DEEPEST else None
        if members is None:
            parts.append("null")
            return
        listed = isinstance(value, (list, tuple))
        parts.append("[" if listed else "{")
        for at, (key, member) in enumerate(members):
            parts.append((", " if at else "") + ("" if listed else f"{quoted(key)}: "))
            self._await(member, f"{path}.{key}", entry, depth + 1)
        parts.append("]" if listed else "}")

    def _save_entry(self, variable: object, name: str, number: int, save_backward: bool) -> None:
        trace, values = self._trace, self._values
        entry = Entry(api_entry(_PREFIX, name, number, "forward"), trace.capture_caller())
        entry.parts.append('"input_args": [], "input_kwargs": {}')
        values.write_output(entry, variable)
        values.end_call(entry)
        for position, tensor in enumerate(values.tensors_in(variable) if save_backward else ()):
            own = f"{name}_{position}" if position else name
            self._watch(tensor, self._entry_writer(api_entry(_PREFIX, own, number, "backward")))

    def _entry_writer(self, name: str) -> Callable[[Any, int], None]:
        def write(gradient: Any, number: int) -> None:
            entry = nth_pass(name, number)
            self._trace.place_backward(entry, None)
            self._values.write_gradient(entry, gradient)

        return write

    def _watch(self, tensor: object, take: Callable[[Any, int], None]) -> bool:
        """Have each gradient taken with the number of its backward pass, from 1."""
        passes = 0

        def arrives(gradient: Any) -> None:
            nonlocal passes
            if gradient is not None and not self._trace.closed:
                passes += 1
                self._trace.safely("the gradient of a saved value", take, gradient, passes)

        return self._values.watch(tensor, arrives)


class _Place:
    """A gradient that is written when it arrives; null until then."""

    def __init__(self, values: ValueWriter, path: str) -> None:
        self._values, self._path = values, path
        self._text: Fragment = "null"
        self.abnormal = False

    def __str__(self) -> str:
        return str(self._text)

    def fill(self, gradient: Any, _: int) -> None:
        """Take the gradient; of several, the last one stays."""
        self._text, self.abnormal = self._values.gradient_text(gradient, self._path)
