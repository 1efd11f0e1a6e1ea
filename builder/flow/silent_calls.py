"""Calls that a dump names and holds no values of, by what they do to what they read.

At the default risk level those are the calls that move, join, cut, cast or create data.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal, get_args

from builder.match.tree import Tree, TreeNode
from builder.operators.table import has, operator

Work = Literal["join", "part", "repeat", "view", "cast", "pad", "bound", "create", "other"]
_WORKS: tuple[Work, ...] = tuple(work for work in get_args(Work) if work != "other")


def work_of(node: TreeNode) -> Work:
    """What a call does to its arguments, by its name."""
    return work_named(node.call)


def work_named(call: str) -> Work:
    """What a call of this name does, as `cat` or `transpose_`."""
    traits = operator(call).traits
    return next((work for work in _WORKS if work in traits), "other")


def shaping_of(node: TreeNode) -> Literal["reshape", "turn"] | None:
    """Whether a view gives other axes or turns them; None for one that keeps the shape, or none."""
    if work_of(node) != "view" or has(node.call, "keep"):
        return None
    return "turn" if has(node.call, "turn") else "reshape"


@dataclass(frozen=True, slots=True)
class Calls:
    """The forward calls of a tree in the order in which they ran: what holds no other call.

    `order` is the execution order of each, which rises; `silent` says which left no tensor, and
    `works` what those do.
    """

    listed: list[TreeNode]
    order: list[int]
    silent: list[bool]
    works: list[Work]

    def before(self, order: int) -> int:
        """How many of them had run when the node with this execution order was yet to come."""
        return bisect_left(self.order, order)

    def run_after(self, order: int, stop: int) -> list[int]:
        """The places of the silent calls that ran right after a node, before the place `stop`."""
        first = last = self.before(order + 1)
        while last < stop and self.silent[last]:
            last += 1
        return list(range(first, last))

    def run_before(self, stop: int) -> list[int]:
        """The places of the silent calls that ran right before the place `stop`."""
        first = stop
        while first > 0 and self.silent[first - 1]:
            first -= 1
        return list(range(first, stop))


def calls_of(tree: Tree, has_tensor: list[bool]) -> Calls:
    """The calls of a tree; `has_tensor` tells by execution order which nodes left a tensor."""
    listed = [
        node
        for node in tree.in_order
        if node.direction == "forward"
        and not node.children
        and node.kind in ("api", "module")
        and not node.is_update
    ]
    order = [node.exec_order for node in listed]
    silent = [not has_tensor[each] for each in order]
    works: list[Work] = [work_of(node) if left else "other" for node, left in zip(listed, silent)]
    return Calls(listed, order, silent, works)
