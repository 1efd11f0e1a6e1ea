"""Where a program leaves the values of another: the last that are equal, and what is made of them.

Where two programs of one model are sound, they come by the same values now and then, whatever they
call in between and whatever their modules hold. Behind a fault they never do again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set

from builder.diagnosis.module_edges import above
from builder.flow.recorded_passages import HandedOn
from builder.match.implementations.met_values import MetValues
from builder.match.tree import Tree, TreeNode, recorded_outputs


def leaves_at(
    met: MetValues, tree: Tree, edges: HandedOn, ends: Set[TreeNode]
) -> tuple[TreeNode, int] | None:
    """The first call of which all that it reads is met, and nothing that is made of its output.

    With what it puts out. `ends` are nodes at which values are known to differ: the call has to
    lead to one. A call of which something further on is met is another way to the same result.
    None where the recorded flow leads to no such call.
    """
    return _Ways(met, tree, edges, ends).first()


class _Ways:
    """The forward calls of a run, and what is made of what they put out.

    Invariant: readers come behind makers in the order of execution, so one way back over the calls
    knows all that follows each, and one way on all that comes before.
    """

    def __init__(self, met: MetValues, tree: Tree, edges: HandedOn, ends: Set[TreeNode]) -> None:
        self._met, self._tree, self._ends = met.indices, tree, {e.exec_order for e in ends}
        self._calls = [
            node
            for node in tree.in_order
            if node.direction == "forward" and (node.kind == "api" or not node.children)
        ]
        orders = {node.exec_order for node in self._calls}
        self._read: dict[int, list[int]] = defaultdict(list)
        self._readers: dict[int, list[int]] = defaultdict(list)
        self._read_as: dict[int, list[int]] = defaultdict(list)  # the values at which it is read
        for (producer, consumer), value in edges.items():
            if producer in orders and consumer in orders and producer < consumer:
                self._read[consumer].append(producer)
                self._readers[producer].append(consumer)
                self._read_as[producer].append(value)
        self._leads: dict[int, bool] = {}  # to a value that is known to differ
        self._heals: dict[int, bool] = {}  # it, or something that is made of it, is met
        self._is_sound: dict[int, bool] = {}

    def first(self) -> tuple[TreeNode, int] | None:
        """The first call that leaves the values of the other program, and what it puts out."""
        for node in reversed(self._calls):
            self._look_on(node)
        for node in self._calls:
            order, made = node.exec_order, recorded_outputs(node, self._tree)
            before = all(self._is_sound[producer] for producer in self._read.get(order, ()))
            # Constants are met by anything: what is made of them tells whether they are right. So
            # it is with calls that left no numbers.
            is_untold = not made or not self._read.get(order)
            self._is_sound[order] = self._heals[order] or (before and is_untold)
            if before and not self._is_sound[order] and self._leads[order]:
                return node, made[0]
        return None

    def _look_on(self, node: TreeNode) -> None:
        order, readers = node.exec_order, self._readers.get(node.exec_order, ())
        seen = (*recorded_outputs(node, self._tree), *self._read_as.get(order, ()))
        is_met = any(index in self._met for index in seen)
        self._heals[order] = is_met or any(self._heals[reader] for reader in readers)
        is_end = any(around.exec_order in self._ends for around in (node, *above(node)))
        self._leads[order] = is_end or any(self._leads[reader] for reader in readers)
