"""Whose the silent views right before a reader are, where it reads several values through them.

In `cross_entropy(logits.flatten(0, 1), ids.flatten())` two calls ran side by side, each for its own
value: arguments are made in their order, so the last views belong to the last inputs.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod

from builder.flow.made_of import Shape, Tensor
from builder.flow.passage_edges import Reading
from builder.flow.silent_calls import Calls, shaping_of, work_of


class Unmade:
    """What calls read that counts (ids, targets, masks) and that nobody is known to have made.

    What is read in the same shape before needs no call of its own. Other unmade inputs may be
    weights, which no call makes.
    """

    def __init__(self, wanted: list[tuple[Tensor, list[Reading]]], calls: Calls) -> None:
        self._calls = calls
        self._read: defaultdict[int, list[tuple[int, Tensor]]] = defaultdict(list)
        known: set[tuple[int, Shape]] = set()
        self._readers = {one.node for _, readers in wanted for one in readers}
        for tensor, readers in wanted:
            if not tensor.counts or (tensor.print, tensor.shape) in known:
                continue
            known.add((tensor.print, tensor.shape))
            for reader in readers:
                self._read[reader.node].append((reader.value, tensor))

    def is_alone(self, to: Reading) -> bool:
        """Whether its reader has nothing else of which no maker is known."""
        return to.node not in self._readers

    def leave(
        self, run: list[int], to: Reading, stop: int, shapes: tuple[Shape, Shape]
    ) -> list[int]:
        """A run of silent calls to a reading without those that made what is read behind it.

        What is left has to make the second of two shapes of the first.
        """
        if not run or run[-1] + 1 != stop:
            return run
        behind = [one for at, one in sorted(self._read[to.node], reverse=True) if at > to.value]
        for other in behind:
            may_make = bool(run) and self._gives(run[-1:], len(other.shape))
            if not may_make or not self._is_enough(run[:-1], *shapes):
                break
            run = run[:-1]
        return run

    def _is_enough(self, run: list[int], before: Shape, after: Shape) -> bool:
        """Whether silent calls may make one shape of another."""
        cut = prod(before) != prod(after)
        if cut and not any(work_of(self._calls.listed[place]) == "part" for place in run):
            return False
        if len(before) != len(after):
            return self._gives(run, axes=1)
        return cut or before == after or self._gives(run, len(after))

    def _gives(self, run: list[int], axes: int) -> bool:
        """Whether a call gives another shape, of so many axes: one alone cannot be turned."""
        works = [shaping_of(self._calls.listed[place]) for place in run]
        return "reshape" in works or ("turn" in works and axes > 1)
