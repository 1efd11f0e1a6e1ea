"""Records gradients through hooks on autograd's own nodes.

No function is put into the graph, so views, in-place operations and values stay as they were.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from types import FrameType
from typing import NamedTuple

import torch
from torch.autograd.graph import Node

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.capture.trace import Trace
from msprobe_core.format import nth_pass
from msprobe_core.torch.record.entries import write_list
from msprobe_core.torch.watch import long_graphs
from msprobe_core.torch.watch.graph import (
    Consumer,
    Edge,
    Key,
    edge_of,
    key_of,
    node_of,
    now,
    survey,
    tensors_in,
)
from msprobe_core.torch.watch.input_layout import InputLayout
from msprobe_core.torch.watch.module_gradients import Gradients, ModuleGradients
from msprobe_core.torch.watch.rebinding import Uses, uses_of

Begun = tuple[int, InputLayout] | None
"""Before a module runs: the number that its first node will get, and its inputs."""


class _Span(NamedTuple):
    """The nodes that were made while a module ran, and what it returned."""

    start: int
    end: int
    returned: frozenset[Key]


class GradientWatch:
    """Hooks graph nodes for one step; hooks of a closed step do nothing."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._tasks: set[int] = set()
        self._runs: list[set[int]] = []
        self._of_thread = threading.local()
        self._open: dict[ModuleGradients, int] = {}
        self._uncertain: list[tuple[ModuleCall, ModuleGradients, Uses]] = []
        self._spans: dict[ModuleCall, _Span] = {}

    def watch_call(
        self, name: str, result: object, parent: ModuleCall | None, since: int, has_values: bool
    ) -> None:
        """Record the backward of an API call: what its last graph node receives and sends on.

        A node numbered below `since` is an earlier call's, whose result this one has passed on, as
        dropout does when it drops nothing.
        """
        node = _first_node(result)
        if node is None or node._sequence_nr() < since:
            return
        trace, passes = self._trace, 0

        def hook(sent: Gradients, received: Gradients) -> None:
            nonlocal passes
            if trace.closed:
                return
            passes += 1
            try:
                self.begin_backward()
                trace.run_waiting()
                within = None if parent is None else parent.in_pass(passes)
                entry = nth_pass(name, passes)
                trace.place_backward(entry, within)
                picked = parent is not None and parent.picked_backward
                if has_values or trace.selection.names(entry):
                    record_backward(trace, entry, picked, received, sent)
            except Exception as error:  # nothing of this may reach the user's step
                trace.report(name, error)

        node.register_hook(hook)
        long_graphs.seen(node)

    def running_backward(self) -> ModuleCall | None:
        """The module in whose backward a function of the user's runs now, as a parent of calls.

        The function's node was made while that module ran, and in none inside of it.
        """
        if not self._trace.nested or torch._C._current_graph_task_id() == -1:
            return None
        node: Node | None = torch._C._current_autograd_node()  # none in the engine's own work
        if node is None:
            return None
        made = node._sequence_nr()
        around = [c for c, span in self._spans.items() if span.start <= made < span.end]
        inner = max(around, key=lambda call: self._spans[call].start, default=None)
        return None if inner is None else _in_backward(inner)

    def begin_module(self, inputs: Iterable[object]) -> Begun:
        """Before a module runs: where new graph nodes begin, and the edges of its inputs."""
        if not torch.is_grad_enabled():
            return None
        try:
            return now(), InputLayout(inputs)
        except Exception as error:  # a container of the user's; its module is recorded without
            self._trace.report("gradients of a module's inputs", error)
            return None

    def watch_module(
        self, call: ModuleCall, begun: Begun, result: object, caller: FrameType | None
    ) -> None:
        """After a module ran: record its gradients once all of its inputs' have been sent."""
        if begun is None:
            return
        returned = list(tensors_in(result))
        outputs = [edge_of(value) for value in returned]
        if not any(outputs):
            return
        start, layout = begun
        made = ModuleGradients(self, self._trace, call, layout, outputs, start, now())
        keys = frozenset(key for key in made.keys if key is not None)
        self._spans[call] = _Span(start, made.end, keys)
        if made.is_uncertain:
            uses = {uses_of(caller, returned[at]) for at in made.older}
            self._uncertain.append((call, made, uses.pop() if len(uses) == 1 else None))

    def begin_pass(self, roots: Iterable[object], gradients: Iterable[object]) -> None:
        """Before autograd runs: find out what the graph alone does not tell."""
        if self._trace.closed or not self._uncertain:
            return
        edges = [_root(each) for each in roots]
        sent: dict[Key, torch.Tensor] = {}
        for edge, root, gradient in zip(edges, roots, gradients):
            if edge is not None and isinstance(root, torch.Tensor):
                first = gradient if isinstance(gradient, torch.Tensor) else torch.ones_like(root)
                sent[key_of(edge)] = first
        wanted = {key for _, made, _ in self._uncertain for key in made.keys if key is not None}
        consumers, reached = survey([edge for edge in edges if edge is not None], wanted)
        for call, made, uses in self._uncertain:
            mine = partial(self._of_the_result, call, made.end, uses)
            made.prepare(consumers, reached, sent, mine)

    def begin_backward(self) -> None:
        """At the end of each backward pass, write the entries that still wait."""
        task = torch._C._current_graph_task_id()
        if task == -1 or task in self._tasks:
            return
        self._tasks.add(task)
        runs = getattr(self._of_thread, "runs", None) or self._runs  # none in a device's thread
        if runs:
            runs[-1].add(task)
        engine = torch.autograd.Variable._execution_engine
        engine.queue_callback(partial(self._end_pass, task))

    def opened(self, gradients: ModuleGradients) -> None:
        """A module's first gradient of a pass has come in."""
        self._open[gradients] = torch._C._current_graph_task_id()

    def finished(self, gradients: ModuleGradients) -> None:
        """A module's last gradient of a pass has come in."""
        self._open.pop(gradients, None)

    def forget(self) -> None:
        """The step has ended: hold nothing of it."""
        self._uncertain.clear()
        self._spans.clear()
        self._open.clear()

    def begin_run(self) -> Callable[[], None]:
        """Before autograd runs; what is returned is called after it, also when it has failed."""
        tasks: set[int] = set()
        of_thread = vars(self._of_thread).setdefault("runs", [])
        of_thread.append(tasks)
        self._runs.append(tasks)

        def end() -> None:
            of_thread.pop()
            self._runs = [run for run in self._runs if run is not tasks]
            for gradients, task in list(self._open.items()):
                if task in tasks:  # a pass that ends well has closed them
                    self._open.pop(gradients, None)
                    gradients.drop()

        return end

    def _end_pass(self, task: int) -> None:
        opened = [gradients for gradients, own in list(self._open.items()) if own == task]
        for gradients in reversed(opened):  # the inner ones first
            self._trace.safely("the end of a backward pass", gradients.finish)
        self._trace.safely("the end of a backward pass", self._trace.run_waiting)

    def _of_the_result(
        self, call: ModuleCall, end: int, uses: Uses, key: Key, users: list[Consumer]
    ) -> list[Consumer] | None:
        """Of the nodes that use a tensor that the module has passed on, those that got it from
        the module; None where that cannot be told.
        """
        last = self._limit(call, key)
        users = [user for user in users if user.made < last]
        if len(users) < 2 or uses == "all":
            return users
        if uses is None:
            return None
        first = min(user.made for user in users)
        spans = [s for s in self._spans.values() if end <= s.start <= first < s.end]
        until = max((span.end for span in spans), default=first + 1)
        taken = [user for user in users if user.made < until]
        return taken if spans or len(taken) == 1 else None

    def _limit(self, call: ModuleCall, key: Key) -> float:
        """Until when nodes were made that can have used what a module passed on.

        The innermost module around it that does not return the tensor itself is the end.
        """
        around = call.parent
        while around is not None:
            span = self._spans.get(around)
            if span is not None and key not in span.returned:
                return span.end
            around = around.parent
        return float("inf")


def _in_backward(call: ModuleCall) -> ModuleCall:
    parent = None if call.parent is None else _in_backward(call.parent)
    return ModuleCall(call.backward, call.backward, parent)


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


def _root(value: object) -> Edge | None:
    if isinstance(value, torch.Tensor):
        return edge_of(value)
    node, number = getattr(value, "node", None), getattr(value, "output_nr", 0)
    return None if node is None else (node, number)


def _first_node(result: object) -> Node | None:
    if isinstance(result, torch.Tensor):
        return node_of(result) if result.requires_grad else None
    if isinstance(result, (tuple, list)):
        for value in result:
            if isinstance(value, torch.Tensor) and value.requires_grad:
                return node_of(value)
    return None
