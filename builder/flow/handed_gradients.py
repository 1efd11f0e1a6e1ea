"""Which backward call handed on a gradient that several put out alike.

An addition hands on the gradient that it reads, as the very same tensor: equal numbers name it and
what made the gradient, and a dump that follows tensors names the first. Of these the one is right
whose forward call read what the reader's forward call put out: gradients go back on those ways.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Set
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
        makers = _Makers(self._made_by_forward(edges, doubtful), self._read_by(edges))
        put_out: dict[int, frozenset[int]] = {}
        for place in doubtful.tolist():
            reader, known = int(edges.consumer[place]), int(edges.producer[place])
            if reader not in put_out:
                put_out[reader] = self._put_out_by_forward(reader)
            gradient, begun = int(self.prints[edges.value[place]]), int(self.begins[reader])
            handed = makers.latest(gradient, put_out[reader], begun)
            right = known < begun and makers.fits(
                known, self._forward_of(known), gradient, put_out[reader]
            )
            if handed is not None and not right:
                edges.producer[place], edges.output[place] = handed

    def _several_makers(self, edges: ReadValues) -> Ints:
        """The places of the backward pass where several calls put out what was read."""
        backward = np.array([node.direction == "backward" for node in self.tree.in_order], bool)
        known = self.made[backward[self.owners[self.made]]]
        # One number for a fingerprint and a node together, which sorts in a hundredth of the time.
        nodes = len(backward)
        once = np.unique(self.prints[known] * nodes + self.owners[known]) // nodes
        numbers, counts = np.unique(once, return_counts=True)
        several = np.isin(self.prints[edges.value], numbers[counts > 1])
        return np.flatnonzero(several & backward[edges.consumer])

    def _read_by(self, edges: ReadValues) -> dict[int, set[int]]:
        """By forward node, the fingerprints of what it read."""
        nodes = self.tree.in_order
        found: defaultdict[int, set[int]] = defaultdict(set)
        read = self.prints[edges.value].tolist()
        for number, consumer in zip(read, edges.consumer.tolist(), strict=True):
            if nodes[consumer].direction == "forward":
                found[consumer].add(number)
        return found

    def _made_by_forward(self, edges: ReadValues, doubtful: Ints) -> _ByGradient:
        """By the fingerprint of what is in doubt, those who put it out, by their forward node."""
        wanted = np.unique(self.prints[edges.value[doubtful]])
        found: _ByGradient = defaultdict(lambda: defaultdict(dict))
        for value in self.made[np.isin(self.prints[self.made], wanted)].tolist():
            maker = int(self.owners[value])
            forward = self._forward_of(maker)
            if forward is not None:
                # Of the same gradient put out a thousand times, once is enough: the last.
                found[int(self.prints[value])][forward][maker] = value
        return found

    def _put_out_by_forward(self, order: int) -> frozenset[int]:
        """The fingerprints of what the forward call of a backward one put out."""
        forward = self.tree.in_order[order].forward
        values = forward.values if forward is not None else (0, 0)
        return frozenset(self.prints[slice(*values)].tolist())

    def _forward_of(self, order: int) -> int | None:
        forward = self.tree.in_order[order].forward
        return None if forward is None else forward.exec_order


# By a gradient's fingerprint and the forward node: its backward nodes, each with a value's index.
_ByGradient = defaultdict[int, defaultdict[int, dict[int, int]]]


class _Makers:
    """Who put out a gradient, to be asked for those whose forward call read one of some values.

    Thousands of calls may put out one gradient (a constant), thousands may read one value, and one
    call may have thousands of either: each question costs what the rarer of the two has.
    """

    def __init__(self, made: _ByGradient, read: dict[int, set[int]]) -> None:
        self._made, self._read = made, read
        self._readers: defaultdict[int, list[int]] = defaultdict(list)
        for forward, numbers in read.items():
            for number in numbers:
                self._readers[number].append(forward)
        self._known: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def fits(self, maker: int, forward: int | None, gradient: int, put_out: Set[int]) -> bool:
        """Whether a backward call made a gradient, and its forward call read one of these."""
        if forward is None or maker not in self._made[gradient].get(forward, ()):
            return False
        return self._reads(forward, put_out)

    def latest(self, gradient: int, put_out: Set[int], begun: int) -> tuple[int, int] | None:
        """The latest maker of a gradient before a node whose forward call read one of these.

        With the index of the value that it put out.
        """
        made = self._made[gradient]
        if len(made) <= len(put_out):
            fitting = [one for one in made if self._reads(one, put_out)]
            before_it = (each for one in fitting for each in made[one].items() if each[0] < begun)
            return max(before_it, default=None)
        found: list[tuple[int, int]] = []
        for number in put_out:
            listed = self._of_readers(gradient, number)
            before = bisect_left(listed, (begun,))
            found += listed[before - 1 : before] if before else []
        return max(found, default=None)

    def _reads(self, forward: int, numbers: Set[int]) -> bool:
        return not self._read.get(forward, set()).isdisjoint(numbers)

    def _of_readers(self, gradient: int, number: int) -> list[tuple[int, int]]:
        """Who made a gradient and whose forward call read a value, in order."""
        known = self._known.get((gradient, number))
        if known is None:
            made, readers = self._made[gradient], self._readers.get(number, [])
            if len(made) < len(readers):
                forwards = [forward for forward in made if number in self._read.get(forward, ())]
            else:
                forwards = [forward for forward in readers if forward in made]
            known = sorted(each for forward in forwards for each in made[forward].items())
            self._known[gradient, number] = known
        return known
