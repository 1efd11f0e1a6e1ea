"""Records the gradients of a module's parameters when autograd has accumulated them.

The hook sits on the graph's accumulation node, not on the parameter, and goes with the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import ref

import torch
from torch.utils.hooks import RemovableHandle

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.capture.trace import Trace
from msprobe_core.format import parameters_grad_entry
from msprobe_core.torch.record.entries import guarded
from msprobe_core.torch.watch.graph import edge_of
from msprobe_core.values.text import quoted

Gradients = tuple[torch.Tensor | None, ...]
_Hook = Callable[[object, object], None]


class ParameterWatch:
    """Hooks the accumulation node of each parameter once for each module that has it.

    A node holds its parameter, and the graph holds the node: nothing here holds either, or weights
    that a user computes for one call would live until the step ends. That a node is gone shows
    in its hook, which only the node holds; the next one gets hooks of its own.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._hooked: dict[tuple[int, str], ref[_Hook]] = {}
        self._handles: list[RemovableHandle] = []
        self._modules: dict[str, _ModuleParameters] = {}

    def watch(self, module: torch.nn.Module, path: str, call: ModuleCall | None) -> None:
        """Record the gradients of the module's own parameters in the backward to come."""
        if not torch.is_grad_enabled():
            return
        for name, parameter in module._parameters.items():
            if parameter is None or not parameter.requires_grad:
                continue
            known = self._hooked.get((id(parameter), path))
            if known is not None and known() is not None:
                continue
            if parameter.grad_fn is not None:  # a computed weight has no gradient of its own
                continue
            owner = self._modules.get(path)
            if owner is None:
                owner = _ModuleParameters(self._trace, path, type(module).__name__, call)
                self._modules[path] = owner
            edge = edge_of(parameter)
            if edge is None:
                continue
            before, after = owner.hooks(name, parameter)
            self._handles += [edge[0].register_prehook(before), edge[0].register_hook(after)]
            self._hooked[id(parameter), path] = ref(after)

    def forget(self) -> None:
        """Take the hooks off the nodes that live on."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._hooked.clear()
        self._modules.clear()


class _ModuleParameters:
    """The parameter gradients of one module: entry n holds the n-th firing of each hook."""

    def __init__(self, trace: Trace, path: str, class_name: str, call: ModuleCall | None) -> None:
        self._trace, self._path, self._class, self._call = trace, path, class_name, call
        self._entries: list[Entry | None] = []
        self._counts: dict[str, int] = {}

    def hooks(
        self, name: str, parameter: torch.nn.Parameter
    ) -> tuple[Callable[[Gradients], None], _Hook]:
        """What is called before and after a gradient is accumulated.

        Hooks of the user's run in between: an optimizer in them takes the gradient away, Megatron
        moves it to a buffer. What will be accumulated is recorded before them then.
        """
        recorded = False
        self._counts.setdefault(name, 0)

        def record(gradient: Callable[[], object]) -> None:
            self._counts[name] += 1
            try:
                self._add(self._counts[name] - 1, name, gradient)
            except Exception as error:  # nothing of this may reach the user's step
                self._trace.report(f"gradient of {self._path}.{name}", error)

        def before(received: Gradients) -> None:
            nonlocal recorded
            if self._trace.closed:
                return
            if isinstance(getattr(parameter, "main_grad", None), torch.Tensor):
                recorded = True
                record(lambda: _in_buffer(parameter, received[0]))
            elif parameter._post_accumulate_grad_hooks:
                recorded = True
                record(lambda: _accumulated(parameter.grad, received[0]))

        def after(_sent: object, _received: object) -> None:
            nonlocal recorded
            if not recorded and not self._trace.closed:
                record(lambda: parameter.grad)
            recorded = False

        return before, after

    def _add(self, number: int, name: str, gradient: Callable[[], object]) -> None:
        trace = self._trace
        trace.run_waiting(early_only=True)
        if number == len(self._entries):
            self._entries.append(self._open(number))
        entry = self._entries[number]
        if entry is None:
            return
        guarded(trace, entry, f"{quoted(name)}: []", _fill, name, gradient)
        entry.open -= 1

    def _open(self, number: int) -> Entry | None:
        name = parameters_grad_entry(self._path, self._class, number)
        selection = self._trace.selection
        if not (selection.backward and selection.outputs):
            return None
        picked = self._call is not None and self._call.picked_backward
        if not selection.wants(name, picked):
            return None
        entry = Entry(name)
        entry.open = len(self._counts)
        self._trace.add(entry)
        return entry


def _accumulated(before: torch.Tensor | None, gradient: torch.Tensor | None) -> object:
    """What a parameter's gradient is going to be."""
    return gradient if before is None or gradient is None else before + gradient


def _in_buffer(parameter: torch.nn.Parameter, gradient: torch.Tensor | None) -> object:
    """What the gradient is going to be in the buffer that a framework accumulates into.

    A layer whose kernel accumulates there itself has done so already.
    """
    buffer = getattr(parameter, "main_grad", None)
    is_there = getattr(parameter, "grad_added_to_main_grad", False)
    return buffer if is_there else _accumulated(buffer, gradient)


def _fill(trace: Trace, entry: Entry, name: str, gradient: Callable[[], object]) -> None:
    entry.parts.append(f"{quoted(name)}: [")
    trace.arguments.value(gradient(), entry.name, name, entry.parts)
    entry.parts.append("]")
