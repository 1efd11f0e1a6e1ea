"""Which recorded call produced a value, told by the value's fingerprint.

A dump does not say where an input came from, but a tensor keeps its statistics from the call that
made it to the calls that read it; transposes and reshapes in between change neither.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import isnan

from builder.dump.values import Record
from builder.tree import Tree, TreeNode


def fingerprint(record: Record) -> Hashable:
    """A key that a tensor shares with its copies and views; None where it says too little.

    Constants (all zeros, all ones) are shared by unrelated tensors and have no fingerprint.
    """
    if record.dtype is None:
        return None
    if record.md5 is not None:
        return record.md5
    if record.Max is None or (record.Max == record.Min and record.Max in (0, 1)):
        return None
    if isinstance(record.Max, str) or isnan(record.Max):
        return None
    return (record.Max, record.Min, record.Mean, record.Norm)


class Producers:
    """The latest call that put out a value, among those before a point in execution order.

    Nothing is looked at until the first question: most runs agree nearly everywhere.
    """

    def __init__(self, tree: Tree) -> None:
        self._values = tree.dump.values
        self._in_order = tree.in_order
        self._reached = 0
        self._added = 0
        self._by_print: dict[Hashable, TreeNode] = {}

    def reach(self, node: TreeNode) -> None:
        """Let later questions know all nodes up to and with this one."""
        self._reached = max(self._reached, node.exec_order + 1)

    def of(self, index: int) -> TreeNode | None:
        """The call that produced the value with this index, as far as the dump tells."""
        while self._added < self._reached:
            self._add(self._in_order[self._added])
            self._added += 1
        key = fingerprint(self._values.records[index])
        return self._by_print.get(key) if key is not None else None

    def _add(self, node: TreeNode) -> None:
        start, stop = node.values
        for index in range(start, stop):
            if self._values.keys[index].startswith(("output", "parameters_grad")):
                key = fingerprint(self._values.records[index])
                if key is not None and not self._made_inside(key, node):
                    self._by_print[key] = node

    def _made_inside(self, key: Hashable, node: TreeNode) -> bool:
        # A module does not hide the call inside it that made its output.
        if node.kind == "api":
            return False
        known = self._by_print.get(key)
        while known is not None and known is not node:
            known = known.parent
        return known is node
