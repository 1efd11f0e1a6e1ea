"""Finds the record that makes a difference vanish: records are taken out until it is there again.

A record parts what a compiler would have fused, so a fault of what is fused can vanish beside it.
Records of the forward pass are numbered as they are traced. With the first n of them the difference
is there, with one more it is not: so it lies between those two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.fx import GraphModule, Node

Backend = Callable[[GraphModule, list[Any]], Any]
ALL = 2**62
"""More records than there are."""
_RECORDS = tuple(f"msprobe.{name}" for name in ("value", "call", "late_value", "late_call"))


@dataclass(frozen=True, slots=True)
class Parted:
    """A difference is there with the records up to that of `before`, and not with that of `after`
    beside them; both are names of values. `before` is empty where no record is needed.
    """

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Trial:
    """A run with some of the records: is the difference there, and which values were recorded?"""

    is_there: bool
    values: frozenset[str]


class FirstRecords:
    """A backend that leaves the first `limit` records in what it compiles; `seen` counts all."""

    def __init__(self, backend: str | Backend, limit: int) -> None:
        self._backend, self._limit = backend, limit
        self.seen = 0
        # What records wait for inductor's passes by.
        self.compiler_name = backend if isinstance(backend, str) else type(self).__name__

    def __call__(self, graph: GraphModule, inputs: list[Any]) -> Any:  # noqa: ANN401 - whatever a graph returns
        """Compile a graph without the records behind the limit."""
        for node in list(graph.graph.nodes):
            if _is_record(node):
                self.seen += 1
                if self.seen > self._limit:
                    graph.graph.erase_node(node)
        graph.recompile()
        return torch._dynamo.lookup_backend(self._backend)(graph, inputs)


def find_parted(tried: Callable[[int], Trial], count: int) -> Parted | None:
    """The two of `count` records between which a difference lies that all of them make vanish.

    `tried` runs with the first n records. None where the difference is not there without any of
    them: then something else hides it.
    """
    tried = cache(tried)
    if not tried(0).is_there:
        return None
    there, gone = 0, count
    while gone - there > 1:
        middle = (there + gone) // 2
        if tried(middle).is_there:
            there = middle
        else:
            gone = middle
    before = _added(tried(there - 1), tried(there)) if there else ""
    return Parted(before, _added(tried(there), tried(gone)))


def _added(less: Trial, more: Trial) -> str:
    """The value that one record more has recorded."""
    return min(more.values - less.values, default="a value without a name")


def _is_record(node: Node) -> bool:
    return node.op == "call_function" and str(node.target).removesuffix(".default") in _RECORDS
