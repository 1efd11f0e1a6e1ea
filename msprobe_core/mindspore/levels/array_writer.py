"""How values that a script names are written, and their gradients awaited."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from mindspore import Tensor

from msprobe_core.capture.entry import Entry
from msprobe_core.capture.saved_values import OnGradient
from msprobe_core.capture.trace import Trace
from msprobe_core.mindspore.record.call_entries import (
    end_call,
    guarded,
    write_list,
    write_output,
    write_value,
)
from msprobe_core.mindspore.watch.autograd_graph import edge_of, is_leaf, tensors_in
from msprobe_core.values.arguments import Fragment


class ArrayWriter:
    """Writes the tensors of one step."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._handles: list[Any] = []

    def untraced(self) -> AbstractContextManager[object]:
        """Nothing: what is written is read untraced, value by value."""
        return nullcontext()

    def is_tensor(self, value: object) -> bool:
        """Whether a value is one tensor."""
        return isinstance(value, Tensor)

    def members_of(self, value: object) -> list[tuple[str, object]] | None:
        """The members of a container with their keys; None for what is none."""
        if isinstance(value, dict):
            return [(str(key), member) for key, member in value.items()]
        if isinstance(value, (list, tuple)):
            return [(str(at), member) for at, member in enumerate(value)]
        return None

    def tensors_in(self, value: object) -> Iterator[Tensor]:
        """The tensors of a value and of the containers in it, in order."""
        return tensors_in(value)

    def watch(self, tensor: Tensor, on_gradient: OnGradient) -> bool:
        """Call back with each gradient of a tensor; whether it can have one."""
        edge = edge_of(tensor)
        if edge is None:
            return False

        def hook(received: Any) -> None:
            on_gradient(received[edge.slot] if edge.slot < len(received) else None)

        if is_leaf(edge.node):  # hooks on the nodes of leaves never fire
            self._handles.append(tensor.register_hook(on_gradient))
        else:
            edge.node.register_prehook(hook)
        return True

    def write_value(self, entry: Entry, value: object) -> None:
        """Write one value as the whole of an entry."""
        write_value(self._trace, entry, value)

    def write_output(self, entry: Entry, value: object) -> None:
        """Write a value as what an entry puts out."""
        write_output(self._trace, entry, (value,))

    def end_call(self, entry: Entry) -> None:
        """Hand over a forward entry and note that it stands in no module."""
        end_call(self._trace, entry.name, entry, None)

    def write_gradient(self, name: str, gradient: Any) -> None:
        """Write the backward entry of that name, which takes a gradient and sends none on."""
        entry = Entry(name)
        write_list(self._trace, entry, "input", [gradient])
        write_list(self._trace, entry, "output", [])
        self._trace.add(entry)

    def gradient_text(self, gradient: Any, path: str) -> tuple[Fragment, bool]:
        """The record of a gradient, and whether it is abnormal."""
        holder = Entry(path)
        guarded(self._trace, holder, "input", "null", _fill, gradient)
        return (holder.parts[0], holder.abnormal) if holder.parts else ("null", False)

    def forget(self) -> None:
        """Take the hooks off those that live on."""
        for handle in self._handles:
            self._trace.safely("the hooks of saved values", handle.remove)
        self._handles.clear()


def _fill(trace: Trace, entry: Entry, gradient: Any) -> None:
    entry.parts.append(trace.book.record(gradient, entry.name))
