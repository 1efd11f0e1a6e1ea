"""The gradients of one module call: what arrives at its outputs, what it sends to its inputs.

They are what `register_full_backward_hook` gives, without a node of its own in the graph. Where
autograd cannot tell (a tensor passed to the module in two places has one gradient for both), the
value is null.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import torch
from torch.autograd.graph import Node

from msprobe_core.capture.entry import Entry, ModuleCall, Waiting
from msprobe_core.capture.trace import Trace
from msprobe_core.format import nth_pass
from msprobe_core.torch.measure.users_modes import users_modes_off
from msprobe_core.torch.record.entries import Key as Side
from msprobe_core.torch.record.entries import tensor_text
from msprobe_core.torch.watch.graph import Consumer, Edge, Key, inner_nodes, key_of, node_key
from msprobe_core.torch.watch.input_layout import InputLayout
from msprobe_core.values.arguments import Fragment

Gradients = tuple[torch.Tensor | None, ...]


class Watch(Protocol):
    """What a module's gradients need of the one who watches all."""

    def begin_backward(self) -> None: ...

    def opened(self, gradients: ModuleGradients) -> None: ...

    def finished(self, gradients: ModuleGradients) -> None: ...


class _Pass:
    """What has come in so far in one backward pass."""

    def __init__(self, inputs: int, outputs: int, senders: list[int]) -> None:
        self.received: list[Fragment] = ["null"] * outputs
        self.sent: list[Fragment] = ["null"] * inputs
        self.parts: list[torch.Tensor | None] = [None] * inputs
        self.senders = list(senders)
        self.outside: dict[int, torch.Tensor] = {}
        self.arrivals = self.left = 0
        self.abnormal = False


class ModuleGradients:
    """Hooks the graph of one module call. The hooks hold this, and this holds no node."""

    def __init__(
        self,
        watch: Watch,
        trace: Trace,
        call: ModuleCall,
        layout: InputLayout,
        outputs: list[Edge | None],
        start: int,
        end: int,
    ) -> None:
        self._watch, self._trace, self._call, self._layout = watch, trace, call, layout
        inputs = layout.edges
        self.keys = [None if edge is None else key_of(edge) for edge in outputs]
        self.end = end
        arriving: dict[Node, list[tuple[int, int]]] = {}
        for at, edge in enumerate(outputs):
            if edge is not None:
                arriving.setdefault(edge[0], []).append((at, edge[1]))
        senders, inner = inner_nodes(arriving, start, inputs)
        given = [None if edge is None else key_of(edge) for edge in inputs]
        self._shared_inputs = {at for at, key in enumerate(given) if given.count(key) > 1}
        self._shared_outputs = {at for at, k in enumerate(self.keys) if self.keys.count(k) > 1}
        self._passed_on = {at: given.index(k) for at, k in enumerate(self.keys) if k in given and k}
        self.older = {at for at, k in enumerate(self.keys) if k and (k[0] < start)}
        self._contested = {at for at, k in enumerate(self.keys) if k in inner} | self.older
        self._decided: set[int] = set()
        self._alone: set[int] = set()
        self._all_senders = [0] * len(inputs)
        for sender in senders:
            for at, _ in sender.sends:
                self._all_senders[at] += 1
        self._sender_keys = [(node_key(s.node), [at for at, _ in s.sends]) for s in senders]
        self._senders, self._awaited = self._all_senders, len(senders)
        self._arrivals = 1 if len(arriving) == 1 else None
        self.is_uncertain = len(arriving) > 1 or bool(self._contested)
        self._passes, self._current = 0, None
        self._heard: set[tuple[int, int, int]] = set()
        self._has_inputs = any(edge is not None for edge in inputs)
        layout.forget()
        for node, places in arriving.items():
            node.register_prehook(self._receiver(id(node), places))
        for sender in senders:
            sender.node.register_hook(self._sender(id(sender.node), sender.sends))

    _current: _Pass | None

    def prepare(
        self,
        consumers: dict[Key, list[Consumer]],
        reached: set[int],
        root_gradients: dict[Key, torch.Tensor],
        of_the_result: Callable[[Key, list[Consumer]], list[Consumer] | None],
    ) -> None:
        """Before a backward pass: which of the outputs and senders it reaches, and who sends to an
        output that the module itself has used or passed on.

        `of_the_result` tells which users of what was passed on have got it from the module.
        """
        nodes = {key[0] for key in self.keys if key is not None}
        self._arrivals = len(nodes & reached)
        living = [at for key, at in self._sender_keys if key in reached]
        self._awaited = len(living)
        self._senders = [sum(at in sends for sends in living) for at in range(len(self._senders))]
        self._decided, self._alone = set(), set()
        for at in self._contested - self._shared_outputs:
            key = self.keys[at]
            assert key is not None
            users = [c for c in consumers.get(key, ()) if self.end <= c.made]
            outside = of_the_result(key, users) if at in self.older else users
            if outside is None:
                continue
            self._decided.add(at)
            for consumer in outside:
                self._listen(consumer, at)
            if key in root_gradients:
                self._pass().outside[at] = root_gradients[key]
            elif len(outside) == 1 and at not in self._passed_on:
                self._alone.add(at)

    def finish(self, mark: int = 0, early: bool = False) -> None:
        """End the pass: its entry waits for its turn."""
        current, self._current = self._current, None
        self._watch.finished(self)
        if current is not None:
            self._passes += 1
            write = partial(self._record, current, self._passes)
            self._trace.wait(Waiting(self._call, mark, early, write))

    def drop(self) -> None:
        """Forget a pass that has failed."""
        self._current = None

    def _pass(self) -> _Pass:
        if self._current is None:
            outputs = len(self.keys)
            self._current = _Pass(len(self._senders), outputs, self._senders)
            self._watch.opened(self)
        return self._current

    def _listen(self, consumer: Consumer, at: int) -> None:
        place = (node_key(consumer.node), consumer.number, at)
        if place in self._heard:
            return
        self._heard.add(place)
        number = consumer.number

        def hook(sent: Gradients, _: Gradients) -> None:
            gradient = sent[number] if number < len(sent) else None
            if self._trace.closed or gradient is None:
                return
            current = self._pass()
            if at in self._alone:  # held until it arrives, it would be added to in new memory
                current.received[at] = self._text(current, gradient, "input", str(at))
                return
            outside = current.outside
            outside[at] = _sum(outside[at], gradient) if at in outside else gradient

        consumer.node.register_hook(self._safely(hook))

    def _receiver(self, mark: int, places: list[tuple[int, int]]) -> Callable[..., None]:
        def hook(received: Gradients) -> None:
            if self._trace.closed:
                return
            self._watch.begin_backward()
            self._trace.run_waiting(mark)
            current = self._pass()
            for at, number in places:
                self._arrive(current, at, received[number] if number < len(received) else None)
            current.arrivals += 1
            self._trace.selection.enter(self._call.backward)
            self._finish_if_complete(current, mark)

        return self._safely(hook)

    def _arrive(self, current: _Pass, at: int, gradient: torch.Tensor | None) -> None:
        if at in self._shared_outputs or at in self._alone:
            return
        if at in self._contested:
            gradient = current.outside.pop(at, None) if at in self._decided else None
        current.received[at] = self._text(current, gradient, "input", str(at))
        to = self._passed_on.get(at)
        if to is None or to in self._shared_inputs:
            return
        if at not in self._decided:  # what the module passed on cannot be told apart
            current.senders[to] = -1
        elif gradient is not None:
            before = current.parts[to]
            current.parts[to] = gradient if before is None else _sum(before, gradient)
            self._send_if_whole(current, to)

    def _sender(self, mark: int, sends: list[tuple[int, int]]) -> Callable[..., None]:
        def hook(sent: Gradients, _: Gradients) -> None:
            if self._trace.closed:
                return
            current = self._pass()
            for at, number in sends:
                self._add_sent(current, at, sent[number] if number < len(sent) else None)
            current.left += 1
            self._finish_if_complete(current, mark)

        return self._safely(hook)

    def _add_sent(self, current: _Pass, at: int, gradient: torch.Tensor | None) -> None:
        # Gradients are written as they come: holding them would keep their memory from reuse.
        if at in self._shared_inputs or current.senders[at] < 0:
            return
        current.senders[at] -= 1
        before = current.parts[at]
        if before is not None and gradient is not None:
            gradient = _sum(before, gradient)
        current.parts[at] = before if gradient is None else gradient
        if at not in self._passed_on.values():
            self._send_if_whole(current, at)

    def _send_if_whole(self, current: _Pass, at: int) -> None:
        total = current.parts[at]
        if current.senders[at] == 0 and total is not None:
            current.parts[at] = None
            current.sent[at] = self._text(current, total, "output", self._layout.paths[at])

    def _finish_if_complete(self, current: _Pass, mark: int) -> None:
        if current.left >= self._awaited and current.arrivals >= (self._arrivals or 2**63):
            self.finish(mark, early=not self._all_senders_of(current))

    def _all_senders_of(self, current: _Pass) -> bool:
        return bool(self._awaited or any(part is not None for part in current.parts))

    def _text(self, current: _Pass, gradient: torch.Tensor | None, side: Side, at: str) -> Fragment:
        trace, call = self._trace, self._call
        wanted = trace.selection.inputs if side == "input" else trace.selection.outputs
        if gradient is None or not wanted or not trace.selection.backward:
            return "null"
        name = nth_pass(call.backward, self._passes + 1)
        text, abnormal = tensor_text(trace, gradient, f"{name}.{side}.{at}", side)
        current.abnormal |= abnormal
        return text

    def _record(self, current: _Pass, number: int) -> None:
        trace = self._trace
        if trace.closed:
            return
        call = self._call.in_pass(number)
        trace.place_module(call, backward=True)
        selection = trace.selection
        if selection.backward and selection.wants(call.backward, call.picked_backward):
            entry = Entry(call.backward)
            entry.abnormal = current.abnormal
            if selection.inputs:
                entry.parts += ['"input": [', *_joined(current.received), "]"]
            if selection.outputs:
                sent = self._layout.arranged(current.sent) if self._has_inputs else []
                entry.parts += [", "] if entry.parts else []
                entry.parts += ['"output": [', *_joined(sent), "]"]
            trace.add(entry)
        selection.leave(call.backward)

    def _safely(self, hook: Callable[..., None]) -> Callable[..., None]:
        def safe(*gradients: Any) -> None:
            try:
                hook(*gradients)
            except Exception as error:  # nothing of this may reach the user's step
                self._trace.report(self._call.backward, error)

        return safe


def _joined(texts: list[Fragment]) -> list[Fragment]:
    parts: list[Fragment] = []
    for text in texts:
        parts += [", ", text] if parts else [text]
    return parts


def _sum(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    with users_modes_off(keep_transforms=True), torch.no_grad():
        return one + other
