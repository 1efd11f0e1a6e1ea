"""What passed through calls without values, where the dump tells who put out what they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np

from builder.dump.passing_calls import PassingCalls, call_of
from builder.flow.feeding import NOWHERE, Flow
from builder.flow.gradient_ways import lead_back
from builder.flow.passage_edges import PassageEdges, Reading
from builder.flow.silent_calls import calls_of
from builder.match.tree import TreeNode
from builder.operators.table import has

_OUTPUT = ".output"


def recorded_edges(flow: Flow) -> PassageEdges:
    """The edges from, to and between such calls, those of gradients among them."""
    passing = flow.tree.dump.passing or {}
    makers = _Makers(flow, passing)
    edges = PassageEdges(set(flow.producer.tolist()))
    for producer, to, instead in _read(flow, makers):
        edges.add(producer, to, True, instead)
    forward = PassageEdges(set(edges.read))
    passed = _Makers(flow, passing, for_gradients=True)
    for producer, to, instead in _read(flow, passed):
        forward.add(producer, to, True, instead)
    lead_back(flow, calls_of(flow.tree, _with_values(flow)), forward)
    nodes = flow.tree.in_order
    for way, seen in forward.found.items():
        if nodes[way.consumer].direction == "backward" or nodes[way.producer].holds_gradients:
            edges.found[way] = seen
    return edges


def _read(flow: Flow, makers: _Makers) -> Iterator[tuple[int, Reading, int]]:
    """Producer, reader, and who needs no edge of his own to that reader."""
    by_name, passing = flow.tree.by_name, flow.tree.dump.passing or {}
    known = dict(zip(flow.value.tolist(), flow.producer.tolist(), strict=True))
    for name, call in passing.items():
        node = by_name.get(name)
        if node is not None:
            for _, source in call.sources:
                for maker in makers.of(source):
                    yield maker.exec_order, Reading(node.exec_order), NOWHERE
    records, owners = flow.tree.dump.values.records, flow.owners.tolist()
    keys = flow.tree.dump.values.keys
    for index, record in enumerate(records):
        if record.through is not None and keys[index].startswith("input"):
            past = known.get(index, NOWHERE)
            for maker in makers.of(record.through):
                instead = NOWHERE if past == maker.exec_order else past
                yield maker.exec_order, Reading(owners[index], index), instead


class _Makers:
    """The nodes behind value names; a call that is no node hands on those behind what it read.

    For gradients so does a call without a backward entry, if it does not cut them off.
    """

    def __init__(self, flow: Flow, passing: PassingCalls, *, for_gradients: bool = False) -> None:
        self._by_name, self._passing = flow.tree.by_name, passing
        self._for_gradients = for_gradients
        self._known: dict[str, tuple[TreeNode, ...]] = {}

    def of(self, source: str | None) -> tuple[TreeNode, ...]:
        """The nodes that put out a value of that name."""
        if source is None:
            return ()
        name = call_of(source)
        while name not in self._by_name and name not in self._passing and _OUTPUT in name:
            name = call_of(name)
        return self._nodes(name)

    def _nodes(self, name: str) -> tuple[TreeNode, ...]:
        known = self._known.get(name)
        if known is not None:
            return known
        node, call = self._by_name.get(name), self._passing.get(name)
        self._known[name] = ()  # for a file that goes in a circle
        if node is not None and (call is None or not self._is_passed(node)):
            found: tuple[TreeNode, ...] = (node,)
        elif call is None:
            found = ()
        else:
            behind = (self.of(source) for _, source in call.sources)
            found = tuple({id(one): one for several in behind for one in several}.values())
        self._known[name] = found
        return found

    def _is_passed(self, node: TreeNode) -> bool:
        if not self._for_gradients or node.backward is not None or node.entry is None:
            return False
        return not has(node.entry.type_name, "cuts")


def _with_values(flow: Flow) -> list[bool]:
    has = np.zeros(len(flow.tree.in_order), dtype=bool)
    has[flow.owners] = True
    return list(has.tolist())


HandedOn: TypeAlias = Mapping[tuple[int, int], int]
"""By the orders of two nodes the value at which the second reads what the first put out."""


def handed_on(flow: Flow) -> HandedOn:
    """Which node hands something to which, and the value that is read.

    Also through calls without values where that is told; NOWHERE where the value is not known.
    """
    cells = zip(flow.producer.tolist(), flow.consumer.tolist(), flow.value.tolist())
    edges = {(made, read): value for made, read, value in cells if made != NOWHERE}
    if flow.tree.dump.passing is not None:
        told = recorded_edges(flow).found
        for way in told:
            edges.pop((way.instead, way.consumer), None)
        edges |= {(way.producer, way.consumer): value for way, (_, value) in told.items()}
    return edges
