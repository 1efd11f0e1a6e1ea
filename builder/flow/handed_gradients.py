"""Which backward call handed on a gradient that several put out alike.

An addition hands on the gradient that it reads, as the very same tensor: equal numbers name it and
what made the gradient, and a dump that follows tensors names the first. Of these the one is right
whose forward call read what the reader's forward call put out: gradients go back on those ways.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.match.tree import Tree

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ReadValues:
    """The values that were read, each an edge: its index, its reader, who put it out, and as what.

    The last two may be corrected.
    """

    value: Ints
    consumer: Ints
    producer: Ints
    output: Ints


@dataclass(frozen=True, slots=True)
class HandedGradients:
    """One side's gradients.

    `prints` and `owners` go by value, `begins` by node; `made` are the values that calls put out.
    """

    tree: Tree
    prints: Ints
    owners: Ints
    begins: Ints
    made: Ints

    def put(self, edges: ReadValues) -> None:
        """Put the call that handed a gradient on in place of the one that made it."""
        doubtful = self._several_makers(edges)
        if not len(doubtful):
            return
        makers = self._makers(set(self.prints[edges.value[doubtful]].tolist()))
        read_by = self._read_by(edges)
        for place in doubtful.tolist():
            reader = int(edges.consumer[place])
            forward = self.tree.in_order[reader].forward
            put_out = range(*forward.values) if forward is not None else ()
            behind = {one for at in put_out for one in read_by.get(int(self.prints[at]), ())}
            fitting = [
                (maker, value)
                for maker, value in makers[int(self.prints[edges.value[place]])]
                if maker < self.begins[reader] and self._forward_of(maker) in behind
            ]
            if fitting and all(maker != edges.producer[place] for maker, _ in fitting):
                edges.producer[place], edges.output[place] = max(fitting)

    def _several_makers(self, edges: ReadValues) -> Ints:
        """The places of the backward pass where several calls put out what was read."""
        backward = np.array([node.direction == "backward" for node in self.tree.in_order], bool)
        known = self.made[backward[self.owners[self.made]]]
        once = np.unique(np.stack((self.prints[known], self.owners[known])), axis=1)[0]
        numbers, counts = np.unique(once, return_counts=True)
        several = np.isin(self.prints[edges.value], numbers[counts > 1])
        return np.flatnonzero(several & backward[edges.consumer])

    def _read_by(self, edges: ReadValues) -> dict[int, set[int]]:
        """By fingerprint, the forward nodes that read such a value."""
        nodes = self.tree.in_order
        found: defaultdict[int, set[int]] = defaultdict(set)
        read = self.prints[edges.value].tolist()
        for number, consumer in zip(read, edges.consumer.tolist(), strict=True):
            if nodes[consumer].direction == "forward":
                found[number].add(consumer)
        return found

    def _makers(self, wanted: set[int]) -> dict[int, list[tuple[int, int]]]:
        """By fingerprint, the nodes that put out such a value, with its index."""
        found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for value in self.made[np.isin(self.prints[self.made], list(wanted))].tolist():
            found[int(self.prints[value])].append((int(self.owners[value]), value))
        return found

    def _forward_of(self, order: int) -> int | None:
        forward = self.tree.in_order[order].forward
        return None if forward is None else forward.exec_order
