"""Records the gradients of a module's parameters when autograd has accumulated them.

The hook sits on the graph's accumulation node, not on the parameter, and goes with the graph.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.autograd.graph import Node

from msprobe_core.capture.entries import guarded
from msprobe_core.capture.trace import Entry, ModuleCall, Trace
from msprobe_core.format import parameters_grad_entry
from msprobe_core.values.text import quoted


class ParameterWatch:
    """Hooks the accumulation node of each parameter once per step."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._hooked: dict[int, Node] = {}
        self._modules: dict[str, _ModuleParameters] = {}

    def watch(self, module: torch.nn.Module, path: str, call: ModuleCall) -> None:
        """Record the gradients of the module's own parameters in the backward to come."""
        if not torch.is_grad_enabled():
            return
        for name, parameter in module._parameters.items():
            if parameter is None or not parameter.requires_grad or id(parameter) in self._hooked:
                continue
            if parameter.grad_fn is not None:  # a computed weight has no gradient of its own
                continue
            owner = self._modules.get(path)
            if owner is None:
                owner = _ModuleParameters(self._trace, path, type(module).__name__, call)
                self._modules[path] = owner
            node = torch.autograd.graph.get_gradient_edge(parameter).node
            node.register_hook(owner.hook(name, parameter))
            owner.expected += 1
            self._hooked[id(parameter)] = node


class _ModuleParameters:
    """The parameter gradients of one module: entry n holds the n-th firing of each hook."""

    def __init__(self, trace: Trace, path: str, class_name: str, call: ModuleCall) -> None:
        self._trace, self._path, self._class, self._call = trace, path, class_name, call
        self._entries: list[Entry | None] = []
        self.expected = 0

    def hook(self, name: str, parameter: torch.nn.Parameter) -> Callable[[object, object], None]:
        count = 0

        def fired(_sent: object, _received: object) -> None:
            nonlocal count
            if not self._trace.closed:
                self._add(count, name, parameter)
                count += 1

        return fired

    def _add(self, number: int, name: str, parameter: torch.nn.Parameter) -> None:
        trace = self._trace
        trace.run_waiting(early_only=True)
        if number == len(self._entries):
            self._entries.append(self._open(number))
        entry = self._entries[number]
        if entry is None:
            return
        guarded(trace, entry, _fill, name, parameter.grad)
        entry.open -= 1

    def _open(self, number: int) -> Entry | None:
        name = parameters_grad_entry(self._path, self._class, number)
        selection = self._trace.selection
        if not (selection.backward and selection.outputs):
            return None
        if not selection.wants(name, self._call.picked_backward):
            return None
        entry = Entry(name)
        entry.open = self.expected
        self._trace.add(entry)
        return entry


def _fill(trace: Trace, entry: Entry, name: str, gradient: object) -> None:
    entry.parts.append(f"{quoted(name)}: [")
    trace.arguments.value(gradient, entry.name, name, entry.parts)
    entry.parts.append("]")
