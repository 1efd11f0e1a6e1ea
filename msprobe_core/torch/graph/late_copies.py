"""What a record reads of a finished graph, so that inductor compiles all else as without records.

By the number and kind of a value's readers inductor decides whether it is written to memory; what
reads it there reads it rounded, in bfloat16 with a loss of digits. So a record is never the second
reader of a value, but reads a copy of what led to it; and what others read as well it does not read
itself, but by a clone. All records stand at the graph's end, where everything else has been
lowered: what is written for them alone is read by nobody else.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import torch
from torch.fx import Graph, Node

_aten = torch.ops.aten
_PRODUCTS = frozenset(
    {
        _aten.mm,
        _aten.addmm,
        _aten.bmm,
        _aten.baddbmm,
        _aten._int_mm,
        _aten.convolution,
        _aten.convolution_backward,
    }
)
"""What inductor leaves to a library's kernel, or makes a kernel of its own of."""


class RecordPlaces:
    """The end of a graph, where its records go."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._order = {node: at for at, node in enumerate(graph.nodes)}
        self._readers = {node: set(node.users) for node in self._order}
        self._end = _first_of_end(graph)

    def add(self, node: Node, sites: list[int]) -> None:
        """Record a node's value under the numbers of sites."""
        with self._graph.inserting_before(self._end):
            read = self._reader_of(node)
            self._graph.call_function(torch.ops.msprobe.row.default, (read, sites))

    def _reader_of(self, node: Node) -> Node:
        if _is_computed_once(node):
            return node
        copies: dict[Node, Node] = {}
        for each in sorted(self._alone_before(node), key=self._order.__getitem__):
            copies[each] = self._graph.node_copy(each, lambda arg: copies.get(arg, arg))
        if node in copies:
            return copies[node]
        # Whatever a record itself reads is written to memory, before others read it.
        clone = self._graph.call_function(_aten.clone.default, (node,))
        clone.meta["val"] = node.meta["val"]
        return clone

    def _alone_before(self, node: Node) -> Iterable[Node]:
        """The node and all before it up to values that a further reader does not change."""
        found: dict[Node, None] = {}
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each not in found and self._would_change(each):
                found[each] = None
                waiting += each.all_input_nodes
        return found

    def _would_change(self, node: Node) -> bool:
        """Whether inductor may treat a value otherwise when it has one reader more."""
        readers = self._readers[node]
        if len(readers) != 1 or next(iter(readers)).op == "output":
            return False
        return not _is_computed_once(node)


def _is_computed_once(node: Node) -> bool:
    """Whether a node's value is in memory whoever reads it, or must not be computed twice."""
    from torch._inductor import config, lowering

    target = node.target
    if target is operator.getitem:
        return False
    if not isinstance(target, torch._ops.OpOverload) or not _is_tensor(node):
        return True
    summed = _summed_by_product(node)
    if summed is not None:
        return summed >= config.unroll_reductions_threshold
    if target.namespace not in ("aten", "prims") or target.overloadpacket in _PRODUCTS:
        return True
    if target in lowering.fallbacks or target._schema.is_mutable:
        return True
    if torch.Tag.nondeterministic_seeded in target.tags:
        return True
    if torch.Tag.reduction in target.tags:  # a short one is written out within its reader
        return _reduced(node) >= config.unroll_reductions_threshold
    return False


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def _summed_by_product(node: Node) -> int | None:
    """How many products a batched one with a single row or column sums: inductor makes a sum of
    it, and of a short one a part of its reader. None for all others.
    """
    if node.target is not _aten.bmm.default:
        return None
    shapes = [each.meta["val"].shape for each in node.all_input_nodes if _is_tensor(each)]
    one, other = shapes[0], shapes[-1]  # a product with itself has one input
    if one[1] != 1 and other[2] != 1:
        return None
    return one[2] if type(one[2]) is int else None


def _reduced(node: Node) -> float:
    """How many elements a reduction makes one of; infinite where that is not known."""
    given: Any = node.args[0] if node.args else None
    if not isinstance(given, Node) or not _is_tensor(given):
        return float("inf")
    before, after = (_elements(each) for each in (given, node))
    return before / after if before and after else float("inf")


def _elements(node: Node) -> int:
    numel = node.meta["val"].numel()
    return numel if type(numel) is int else 0


def _first_of_end(graph: Graph) -> Node:
    """Where records go: before a graph's inputs are overwritten, and before its output."""
    nodes: Iterable[Node] = graph.nodes
    return next(node for node in nodes if node.op == "output" or _overwrites(node))


def _overwrites(node: Node) -> bool:
    return node.target is _aten.copy_.default
