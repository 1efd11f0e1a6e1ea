"""How values that a script names are written, and their gradients awaited."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.autograd.graph import Node
from torch.utils.hooks import RemovableHandle

from msprobe_core.capture.entry import Entry
from msprobe_core.capture.saved_values import OnGradient
from msprobe_core.capture.trace import Trace
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


class TensorWriter:
    """Writes the tensors of one step.

    The nodes of leaves are held until the step ends: nothing else may hold them before the leaf
    is used.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._leaves: list[Node] = []
        self._handles: list[RemovableHandle] = []

    def untraced(self) -> AbstractContextManager[object]:
        """What runs inside is seen by nothing of the user's."""
        return untraced()

    def is_tensor(self, value: object) -> bool:
        """Whether a value is one tensor."""
        return isinstance(value, torch.Tensor)

    def members_of(self, value: object) -> list[tuple[str, object]] | None:
        """The members of a container with their keys; None for what is none."""
        return members_of(value)

    def tensors_in(self, value: object) -> Iterator[torch.Tensor]:
        """The tensors of a value and of the containers in it, in order."""
        return (each for each in tensors_in(value) if isinstance(each, torch.Tensor))

    def watch(self, tensor: torch.Tensor, on_gradient: OnGradient) -> bool:
        """Call back with each gradient of a tensor; whether it can have one."""
        with torch.enable_grad():
            edge = edge_of(tensor)
        if edge is None:
            return False
        node, slot = edge

        def hook(received: tuple[torch.Tensor | None, ...]) -> None:
            on_gradient(received[slot] if slot < len(received) else None)

        handle = node.register_prehook(hook)
        if tensor.is_leaf:
            self._leaves.append(node)
            self._handles.append(handle)
        return True

    def write_value(self, entry: Entry, value: object) -> None:
        """Write one value as the whole of an entry."""
        write_value(self._trace, entry, value)

    def write_output(self, entry: Entry, value: object) -> None:
        """Write a value as what an entry puts out."""
        write_list(self._trace, entry, "output", [value])

    def end_call(self, entry: Entry) -> None:
        """Hand over a forward entry and note that it stands in no module."""
        close_forward(self._trace, entry)
        self._trace.place_forward(entry.name, None)

    def write_gradient(self, name: str, gradient: torch.Tensor) -> None:
        """Write the backward entry of that name, which takes a gradient and sends none on."""
        record_backward(self._trace, name, False, (gradient,), ())

    def gradient_text(self, gradient: Any, path: str) -> tuple[Fragment, bool]:
        """The record of a gradient, and whether it is abnormal."""
        return tensor_text(self._trace, gradient, path, "input")

    def forget(self) -> None:
        """Hold no node of the graph any more, and take the hooks off those that live on."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._leaves.clear()
