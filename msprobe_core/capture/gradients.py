"""Records gradients through hooks on autograd's own nodes.

No function is put into the graph, so views, in-place operations and values stay as they were:
a module's input gradient is the sum of what the nodes inside the module send to that input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.autograd.graph import Node

from msprobe_core.capture.entries import tensor_text, write_list
from msprobe_core.capture.trace import Entry, ModuleCall, Trace, Waiting
from msprobe_core.values.arguments import Fragment

Edge = tuple[Node, int]
Gradients = tuple[torch.Tensor | None, ...]


class GradientWatch:
    """Hooks graph nodes for one step; hooks of a closed step do nothing."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._tasks: set[int] = set()
        self._sequence_start = _next_sequence_number

    def watch_call(
        self, name: str, result: object, parent: ModuleCall | None, has_values: bool
    ) -> None:
        """Record the backward of an API call: what its last graph node receives and sends on."""
        node = _first_node(result)
        if node is None:
            return
        trace, fired = self._trace, False

        def hook(sent: Gradients, received: Gradients) -> None:
            nonlocal fired
            if fired or trace.closed:
                return
            fired = True
            self.begin_backward()
            trace.run_waiting()
            trace.place_backward(name, parent)
            picked = parent is not None and parent.picked_backward
            if has_values or trace.selection.names(name):
                record_backward(trace, name, picked, received, sent)

        node.register_hook(hook)

    def begin_module(self, inputs: Iterable[object]) -> tuple[int, list[Edge | None]]:
        """Before a module runs: where new graph nodes begin, and the edges of its inputs."""
        if not torch.is_grad_enabled():
            return 0, []
        return self._sequence_start(), [edge_of(value) for value in inputs]

    def watch_module(
        self, call: ModuleCall, begun: tuple[int, list[Edge | None]], result: object
    ) -> None:
        """After a module ran: record its gradients once all of its inputs' have been sent."""
        outputs = [edge_of(value) for value in _outputs(result)]
        if not any(outputs):
            return
        start, inputs = begun
        gradients = _ModuleGradients(self, self._trace, call, inputs, outputs)
        gradients.hook(start)

    def begin_backward(self) -> None:
        """At the end of each backward pass, write the entries that still wait."""
        task = torch._C._current_graph_task_id()
        if task == -1 or task in self._tasks:
            return
        self._tasks.add(task)
        engine = torch.autograd.Variable._execution_engine
        engine.queue_callback(self._trace.run_waiting)


class _ModuleGradients:
    """The gradients of one module call while they come in."""

    def __init__(
        self,
        watch: GradientWatch,
        trace: Trace,
        call: ModuleCall,
        inputs: list[Edge | None],
        outputs: list[Edge | None],
    ) -> None:
        self._watch, self._trace, self._call = watch, trace, call
        self._inputs, self._outputs = inputs, outputs
        self._received: list[Fragment] = ["null"] * len(outputs)
        self._sent: list[Fragment] = ["null"] * len(inputs)
        self._parts: list[torch.Tensor | None] = [None] * len(inputs)
        self._senders = [0] * len(inputs)
        self._abnormal = False
        self._awaited = 0
        self._done = False

    def hook(self, start: int) -> None:
        arriving: dict[Node, list[tuple[int, int]]] = {}
        for at, edge in enumerate(self._outputs):
            if edge is not None:
                arriving.setdefault(edge[0], []).append((at, edge[1]))
        leaving = list(_edges_out(list(arriving), start, self._inputs))
        self._awaited = len(leaving)
        for _, sends in leaving:
            for at, _ in sends:
                self._senders[at] += 1
        for node, places in arriving.items():
            node.register_prehook(self._receiver(node, places, last=not leaving))
        for node, sends in leaving:
            node.register_hook(self._sender(node, sends))

    def _receiver(self, node: Node, places: list[tuple[int, int]], last: bool) -> Any:  # noqa: ANN401
        mark = id(node)

        def hook(received: Gradients) -> None:
            if self._done or self._trace.closed:
                return
            self._watch.begin_backward()
            self._trace.run_waiting(mark)
            for at, number in places:
                gradient = received[number] if number < len(received) else None
                self._received[at] = self._text(gradient, "input", at)
            self._trace.selection.enter(self._call.backward)
            if last:
                self._finish(mark, early=True)

        return hook

    def _sender(self, node: Node, sends: list[tuple[int, int]]) -> Any:  # noqa: ANN401
        mark = id(node)

        def hook(sent: Gradients, _: Gradients) -> None:
            if self._done or self._trace.closed:
                return
            for at, number in sends:
                self._add_sent(at, sent[number] if number < len(sent) else None)
            self._awaited -= 1
            if self._awaited == 0:
                self._finish(mark, early=False)

        return hook

    def _add_sent(self, at: int, gradient: torch.Tensor | None) -> None:
        # Gradients are written as they come: holding them would keep their memory from reuse.
        self._senders[at] -= 1
        before = self._parts[at]
        if before is not None and gradient is not None:
            gradient = _sum(before, gradient)
        total = before if gradient is None else gradient
        self._parts[at] = total if self._senders[at] else None
        if not self._senders[at] and total is not None:
            self._sent[at] = self._text(total, "output", at)

    def _text(self, gradient: torch.Tensor | None, side: str, at: int) -> Fragment:
        trace, call = self._trace, self._call
        wanted = trace.selection.inputs if side == "input" else trace.selection.outputs
        if gradient is None or not wanted or not trace.selection.backward:
            return "null"
        text, abnormal = tensor_text(trace, gradient, f"{call.backward}.{side}.{at}")
        self._abnormal |= abnormal
        return text

    def _finish(self, mark: int, early: bool) -> None:
        self._done = True
        self._trace.wait(Waiting(self._call, mark, early, self._record))

    def _record(self) -> None:
        trace, call = self._trace, self._call
        if trace.closed:
            return
        trace.place_module(call, backward=True)
        sent = self._sent if any(edge is not None for edge in self._inputs) else []
        selection = trace.selection
        if selection.backward and selection.wants(call.backward, call.picked_backward):
            entry = Entry(call.backward)
            entry.abnormal = self._abnormal
            sides = (
                ("input", self._received, selection.inputs),
                ("output", sent, selection.outputs),
            )
            for key, texts, wanted in sides:
                if wanted:
                    entry.parts += [", "] if entry.parts else []
                    entry.parts += [f'"{key}": [', *_joined(texts), "]"]
            trace.add(entry)
        selection.leave(call.backward)


def record_backward(
    trace: Trace, name: str, picked: bool, received: Gradients, sent: Gradients
) -> None:
    """Write a backward entry: `input` is what arrived, `output` what was sent on."""
    selection = trace.selection
    selection.enter(name)
    if selection.backward and selection.wants(name, picked):
        entry = Entry(name)
        if selection.inputs:
            write_list(trace, entry, "input", received)
        if selection.outputs:
            write_list(trace, entry, "output", sent)
        trace.add(entry)
    selection.leave(name)


def _joined(texts: list[Fragment]) -> list[Fragment]:
    parts: list[Fragment] = []
    for text in texts:
        parts += [", ", text] if parts else [text]
    return parts


def edge_of(value: object) -> Edge | None:
    """Where the gradient of a tensor goes: a node and the number of its input; None without."""
    if not isinstance(value, torch.Tensor) or not value.requires_grad:
        return None
    node = _node_of(value)
    if node is not None:
        return node, value.output_nr
    if not torch.is_grad_enabled():
        return None
    edge = torch.autograd.graph.get_gradient_edge(value)
    return edge.node, edge.output_nr


def _edges_out(
    nodes: list[Node], start: int, inputs: list[Edge | None]
) -> Iterator[tuple[Node, list[tuple[int, int]]]]:
    """Nodes made since `start` that send to an input: the node, (input, its slot in the node)."""
    wanted: dict[Edge, list[int]] = {}
    for at, edge in enumerate(inputs):
        if edge is not None:
            wanted.setdefault(edge, []).append(at)
    if not wanted:
        return
    seen: set[Node] = set()
    todo = [node for node in nodes if node._sequence_nr() >= start]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        sends: list[tuple[int, int]] = []
        for number, (target, slot) in enumerate(node.next_functions):
            if target is None:
                continue
            sends.extend((at, number) for at in wanted.get((target, slot), ()))
            if target not in seen and start <= target._sequence_nr() < _ACCUMULATE:
                todo.append(target)
        if sends:
            yield node, sends


_ACCUMULATE = 2**63
"""Nodes of leaves carry the largest number there is; they lead nowhere."""


def _outputs(result: object) -> list[object]:
    """The tensors of a result in order, containers opened."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, Mapping):
        return [each for value in result.values() for each in _outputs(value)]
    if isinstance(result, (tuple, list)):
        return [each for value in result for each in (_outputs(value) or [None])]
    return []


def _first_node(result: object) -> Node | None:
    if isinstance(result, torch.Tensor):
        return _node_of(result) if result.requires_grad else None
    if isinstance(result, (tuple, list)):
        for value in result:
            if isinstance(value, torch.Tensor) and value.requires_grad:
                return _node_of(value)
    return None


def _node_of(tensor: torch.Tensor) -> Node | None:
    try:
        return tensor.grad_fn
    except RuntimeError:  # a view whose base changed where no gradients are kept has none
        return None


def _sum(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    with torch.no_grad(), torch._C.DisableTorchFunction():
        return one + other


def _next_sequence_number() -> int:
    return int(torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]
