"""Which modules hold a parameter whose gradient is recorded, and which calls read it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

from builder.flow.feeding import Flow
from builder.flow.fingerprints import NO_PRINT
from builder.match.tree import TreeNode


def holders(flow: Flow) -> dict[int, TreeNode]:
    """The modules of whose parameters gradients are recorded, by the parameters' fingerprints."""
    numbers = flow.prints.numbers
    held = ((numbers[i], module) for module in _with_gradients(flow) for i in _held(flow, module))
    return {number: module for number, module in held if number != NO_PRINT}


# Constants of one shape may be the parameters of every layer: of so many readers one is enough.
_MOST = 64


class ParameterReaders:
    """The forward calls of one run that may read parameters of modules that they do not stand in.

    Of parameters whose gradients are recorded. Weights and biases that are constant, as those of a
    new norm are, look alike where their shapes are the same.
    """

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        own = {m: {self._likeness(i) for i in _held(flow, m)} for m in _with_gradients(flow)}
        known = set().union(*own.values())
        self._readers: dict[Hashable, list[TreeNode]] = defaultdict(list)
        self._inside: dict[Hashable, list[TreeNode]] = defaultdict(list)  # modules that hold it too
        for node in flow.tree.in_order:
            if node.kind != "api" or node.direction != "forward" or node.phase == "after":
                continue
            inside = own.get(node.parent, set()) if node.parent is not None else set()
            for one in {self._likeness(index) for index in range(*node.values)} & known:
                readers = (self._inside if one in inside else self._readers)[one]
                if len(readers) < _MOST:
                    readers.append(node)

    def of(self, module: TreeNode) -> Iterator[TreeNode]:
        """The calls elsewhere that may read a parameter of a module."""
        for index in _held(self._flow, module):
            likeness = self._likeness(index)
            yield from self._readers.get(likeness, ())
            yield from (n for n in self._inside.get(likeness, ()) if n.parent is not module)

    def _likeness(self, index: int) -> Hashable:
        number = self._flow.prints.numbers[index]
        if number != NO_PRINT:
            return number
        record = self._flow.tree.dump.values.records[index]
        return (record.shape and tuple(record.shape), record.Max, record.Min)


def _with_gradients(flow: Flow) -> dict[TreeNode, None]:
    nodes = (node.forward for node in flow.tree.in_order if node.holds_gradients)
    return dict.fromkeys(module for module in nodes if module is not None)


def _held(flow: Flow, module: TreeNode) -> list[int]:
    keys = flow.tree.dump.values.keys
    return [i for i in range(*module.values) if keys[i].startswith("parameters.")]
