"""The way from a divergent node back to its cause, call by call: which output fed which input."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from builder.results.records import Node

Link: TypeAlias = Literal[
    "start",
    "partner",
    "input",
    "inside",
    "forward",
    "before",
    "gradient",
    "cause",
    "guess",
    "weight",
    "returned",
    "fed",
]
# How a trace gets from one hop to the next: from a node of the benchmark to its partner, by the
# value that was read, into a module, from a gradient to the call it belongs to, to what wrote the
# value in the step before or to the gradient that it followed there, or, where no value tells, to
# what the diagnosis names; a guess is what was worked out from the values around calls that left
# none; a weight is that of the module which the diagnosis names for it, a gradient is returned by
# the backward call of a reader, and a call reads what was fed to the module around it.


class Hop(msgspec.Struct, frozen=True):
    """One node on the way; `link` says how it was reached from the one before.

    By the link `input`, `value` is the key under which the node before read what this one put out
    under the key `output`; `exact` says whether the dump itself tells that, and not equal numbers.
    `matched` is false for a call that one run alone makes: it has no score. `step` is that of a
    node in an earlier step than the trace's; null for all others.
    """

    node: int
    name: str
    side: str
    order: int
    score: float | None
    input_score: float | None
    link: Link
    value: str | None = None
    output: str | None = None
    exact: bool = False
    matched: bool = True
    step: int | None = None


class Trace(msgspec.Struct, frozen=True):
    """The way from a node to its cause, the node first; `finding` is the number of the finding.

    `finding` is null where the way ends without one: nothing differs there (`differs`), or nobody
    knows why.
    """

    step: int
    rank: int
    finding: int | None
    differs: bool
    hops: list[Hop]


def start_of(node: Node) -> Hop:
    """The node that a way is asked of, as its first hop."""
    own = (node.id, node.name, node.side, node.order, node.score, node.input_score)
    return Hop(*own, "start", matched=node.match is not None)
