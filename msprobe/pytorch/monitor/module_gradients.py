"""The gradients of one module call: what arrives at its outputs, what it sends to its inputs.

They are what `register_full_backward_hook` gives, without a node of its own in the graph: that
one makes outputs views which the user's in-place operations may not change. An input that a module
hands on as it is has no row: what is sent to it by others cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd.graph import Node

from msprobe.pytorch.monitor.safely import safely
from msprobe_core.torch.watch.graph import Edge, edge_of, inner_nodes, now

Take = Callable[[str, int, torch.Tensor], None]
"""Called with `input` or `output`, the place among those with gradients, and the gradient."""


class ModuleInputs:
    """Before a module runs: the tensors it is given, and where the graph stood."""

    def __init__(self, inputs: Sequence[torch.Tensor]) -> None:
        self.edges = [edge for each in inputs if (edge := edge_of(each)) is not None]
        self._start = now()

    def watch(self, outputs: Sequence[torch.Tensor], take: Take) -> list[Any]:
        """Hook the graph of the call; what takes the hooks of its outputs off."""
        made = [each for each in outputs if each.requires_grad]
        handles = []
        for place, output in enumerate(made):
            hook = _taking(take, "output", place)
            handles.append(output.register_hook(hook))
        nodes = [edge[0] for each in made if (edge := edge_of(each)) is not None]
        _Inputs(self.edges, nodes, self._start, take)
        return handles


class _Inputs:
    """Adds up what the nodes of a call send to each of its inputs. Holds no node."""

    def __init__(self, edges: list[Edge], nodes: list[Node], start: int, take: Take) -> None:
        senders, _ = inner_nodes(nodes, start, list(edges))
        self._take = take
        self._awaited = [0] * len(edges)
        self._sums: dict[int, torch.Tensor] = {}
        self._come = [0] * len(edges)
        for sender in senders:
            for at, _number in sender.sends:
                self._awaited[at] += 1
        for sender in senders:
            sender.node.register_hook(self._receiver(sender.sends))

    def _receiver(self, sends: list[tuple[int, int]]) -> Callable[..., None]:
        def hook(sent: tuple[torch.Tensor | None, ...], _: object) -> None:
            for at, number in sends:
                safely(self._add, at, sent[number] if number < len(sent) else None)

        return hook

    def _add(self, at: int, gradient: torch.Tensor | None) -> None:
        self._come[at] += 1
        before = self._sums.pop(at, None)
        if gradient is not None:
            self._sums[at] = gradient if before is None else before + gradient
        elif before is not None:
            self._sums[at] = before
        if self._come[at] == self._awaited[at]:  # the next pass over the same graph begins anew
            self._come[at] = 0
            total = self._sums.pop(at, None)
            if total is not None:
                self._take("input", at, total)


def _taking(take: Take, side: str, place: int) -> Callable[[torch.Tensor], None]:
    return lambda gradient: safely(take, side, place, gradient)
