"""Records gradients through hooks on autograd's own nodes; nothing is put into the graph.

What arrives at a call's outputs is what their nodes receive. What the call sends to an input is the
sum of what the nodes made inside the call send there: bit for bit what a backward hook of a cell
gets, and for a call of the API the true gradients of its inputs, in the order of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from msprobe_core.capture.entry import Entry, ModuleCall, Waiting
from msprobe_core.capture.trace import Trace
from msprobe_core.format import nth_pass
from msprobe_core.mindspore.record.call_entries import write_list
from msprobe_core.mindspore.untraced import (
    at_the_end_of_the_pass,
    current_pass,
    keeps_gradients,
    summed,
)
from msprobe_core.mindspore.watch.autograd_graph import (
    LEAF,
    Edge,
    edge_of,
    made_at,
    senders_of,
    tensors_in,
)

Received = Sequence[Any]


class Begun:
    """Before a call runs: the edges of its inputs, and where new nodes begin."""

    __slots__ = ("inputs", "start")

    def __init__(self, inputs: list[Edge | None], start: int) -> None:
        self.inputs, self.start = inputs, start


class GradientWatch:
    """Hooks the nodes of one step's calls; hooks of a closed step do nothing.

    `_newest` is the largest number that a node of a result had: MindSpore tells nowhere which one
    comes next.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._newest = -1
        self._open: dict[int, CallGradients] = {}
        self._passes: set[object] = set()
        self._complete: list[Callable[[], None]] = []
        self.at_end: list[Callable[[], None]] = []
        """What is called when a backward pass has ended."""

    def begin(self, args: Iterable[object], kwargs: dict[str, object]) -> Begun | None:
        """Before a call runs; None where nothing will have gradients."""
        if not keeps_gradients():
            return None
        values = [*tensors_in((*args, *kwargs.values()))]
        return Begun([edge_of(value) for value in values], self._newest + 1)

    def end(
        self,
        begun: Begun | None,
        result: object,
        name: str,
        parent: ModuleCall | None,
        call: ModuleCall | None = None,
    ) -> None:
        """After a call ran: record its gradients under `name` when they come."""
        if begun is None:
            return
        outputs = [edge_of(value) for value in tensors_in(result)]
        made = {e.key[0]: at for e in outputs if e is not None and (at := made_at(e.node)) < LEAF}
        self._newest = max([self._newest, *made.values()])
        given = {edge.key for edge in begun.inputs if edge is not None}
        own = [None if e is None or e.key in given or e.key[0] not in made else e for e in outputs]
        if not any(own):
            return  # it hands on what it was given: the gradient passes it by
        senders = senders_of(own, begun.inputs, begun.start)
        picked = _is_picked(parent, call)
        watched = CallGradients(self, self._trace, name, parent, picked, len(begun.inputs), call)
        watched.hook(own, senders)

    def after_this_node(self, write: Callable[[], None]) -> None:
        """Write gradients of parameters once the call that made them has its entry."""
        self._complete.append(write)

    def settle(self) -> None:
        """Another node begins: write what waits, a cell's parameters before the cell itself."""
        complete, self._complete = self._complete, []
        for write in complete:
            self._trace.safely("gradients of parameters", write)
        self._trace.run_waiting()

    def opened(self, gradients: CallGradients) -> None:
        """A call's first gradient of a pass has come in."""
        self._open[id(gradients)] = gradients
        running = current_pass()
        if running is None or running not in self._passes:
            self._passes.add(running)
            at_the_end_of_the_pass(self._end_pass)

    def finished(self, gradients: CallGradients) -> None:
        """A call's last gradient of a pass has come in."""
        self._open.pop(id(gradients), None)

    def forget(self) -> None:
        """The step has ended: hold nothing of it."""
        self._open.clear()
        self._passes.clear()
        self._complete.clear()

    def _end_pass(self) -> None:
        """A node that no gradient reaches never runs: close what waits for it."""
        self._passes.clear()
        for gradients in reversed(list(self._open.values())):  # the inner ones first
            self._trace.safely("the end of a backward pass", gradients.finish)
        for run in self.at_end:
            run()
        self._trace.safely("the end of a backward pass", self.settle)


class CallGradients:
    """The gradients of one call in one backward pass after the other. It holds no node."""

    def __init__(
        self,
        watch: GradientWatch,
        trace: Trace,
        name: str,
        parent: ModuleCall | None,
        picked: bool,
        inputs: int,
        call: ModuleCall | None,
    ) -> None:
        self._call = call
        self._watch, self._trace, self._name, self._parent = watch, trace, name, parent
        self._picked, self._inputs = picked, inputs
        self._passes, self._senders, self._outputs = 0, 0, 0
        self._received: list[Any] | None = None
        self._sent: list[Any] = []
        self._left = 0

    def hook(self, outputs: Sequence[Edge | None], senders: Sequence[Any]) -> None:
        """Hook the nodes of the outputs, and those that send to the inputs."""
        self._outputs, self._senders = len(outputs), len(senders)
        places: dict[int, tuple[Any, list[tuple[int, int]]]] = {}
        for at, edge in enumerate(outputs):
            if edge is not None:
                places.setdefault(edge.key[0], (edge.node, []))[1].append((at, edge.slot))
        for node, slots in places.values():
            node.register_prehook(self._receiver(slots))
        for sender in senders:
            sender.node.register_hook(self._sender(sender.sends))

    def finish(self) -> None:
        """Write the entry of this pass and wait for the next one."""
        received, sent, self._received = self._received, self._sent, None
        self._watch.finished(self)
        trace = self._trace
        if received is None or trace.closed:
            return
        self._passes += 1
        write = partial(self._write, received, sent, self._passes)
        if self._call is not None and self._senders:
            # The gradients of its parameters come before it, and fire once the node has run.
            trace.wait(Waiting(self._call, 0, False, write))
        else:
            write()

    def _place(self, number: int) -> None:
        """Give the entry its place where its first gradient comes in.

        It may be complete long after what it feeds: a node on the way to what nobody asks the
        gradient of never runs, and only the end of the pass says so.
        """
        parent = None if self._parent is None else self._parent.in_pass(number)
        self._trace.place_backward(nth_pass(self._name, number), parent)

    def _write(self, received: Received, sent: Received, number: int) -> None:
        trace = self._trace
        name = nth_pass(self._name, number)
        selection = trace.selection
        selection.enter(name)
        if selection.backward and selection.wants(name, self._picked):
            entry = Entry(name)
            if selection.inputs:
                write_list(trace, entry, "input", received)
            if selection.outputs:
                write_list(trace, entry, "output", sent)
            trace.add(entry)
        selection.leave(name)

    def _receiver(self, slots: list[tuple[int, int]]) -> Any:
        def before(received: Received) -> None:
            if not self._trace.closed:
                self._trace.safely(self._name, self._receive, slots, received)

        return before

    def _receive(self, slots: list[tuple[int, int]], received: Received) -> None:
        self._watch.settle()
        if self._received is None:
            self._received, self._sent = [None] * self._outputs, [None] * self._inputs
            self._left = self._senders
            self._place(self._passes + 1)
            self._watch.opened(self)
        for at, slot in slots:
            self._received[at] = received[slot] if slot < len(received) else None
        if not self._left and all(value is not None for value in self._received):
            self.finish()

    def _sender(self, sends: Sequence[tuple[int, int]]) -> Any:
        def after(sent: Received, _received: Received) -> None:
            if not self._trace.closed:
                self._trace.safely(self._name, self._send, sends, sent)

        return after

    def _send(self, sends: Sequence[tuple[int, int]], sent: Received) -> None:
        if self._received is None:
            return
        for at, slot in sends:
            part = sent[slot] if slot < len(sent) else None
            if part is not None:
                known = self._sent[at]
                self._sent[at] = part if known is None else summed(known, part)
        self._left -= 1
        if not self._left:
            self.finish()


def _is_picked(parent: ModuleCall | None, call: ModuleCall | None) -> bool:
    around = call if call is not None else parent
    return around is not None and around.picked_backward
