"""Which call of one side puts out the first NaN of a step, or the first infinity where none is NaN.

The levels of overflow do not tell: one that makes NaN of the infinities of a mask has as high a
level as all behind it, and the module around it a higher one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Literal

import msgspec

from builder.results.records import Node, NodeDetails, Role, Side, Value

State = Literal["NaN", "Inf"]
MOST_READ = 400
"""Nodes whose values are read: those behind the first NaN are dirty, so it comes early; only nodes
that grow their norm can stand in front of it."""
MOST_LISTED = 10 * MOST_READ
"""Nodes with a level that are looked through; in front may be many that infinities only reach."""
_OUTPUTS: tuple[Role, ...] = ("output", "parameters_grad")


class FirstInfinity(msgspec.Struct, frozen=True):
    """The first node that puts out infinity before the first NaN, in its output `value`."""

    node: Node
    value: str


class NonfiniteStart(msgspec.Struct, frozen=True):
    """The first node in order of execution that puts out NaN or infinity in its output `value`.

    `given` is its first input or parameter that holds what is no number already, `given_state` what
    that is; both null where all are finite, or not recorded. `infinity` is where the infinities
    begin that a NaN is made of.
    """

    node: Node
    value: str
    state: State
    given: str | None
    given_state: State | None
    infinity: FirstInfinity | None = None


class NonfiniteStarts(msgspec.Struct, frozen=True):
    """The start of each side of a step and rank; null where all is finite."""

    problem: NonfiniteStart | None
    benchmark: NonfiniteStart | None


def first_nonfinite(
    nodes: Iterable[Node], details: Callable[[int], NodeDetails]
) -> NonfiniteStart | None:
    """The start among nodes with an overflow level in their order of execution."""
    infinite: NonfiniteStart | None = None
    dirty = (node for node in nodes if node.overflow in ("high", "critical"))
    for node in islice(dirty, MOST_READ):
        start = _start(node, details(node.id))
        if start is not None and start.state == "NaN":
            return _made_of(start, infinite)
        infinite = infinite or start
    return infinite


def _made_of(start: NonfiniteStart, before: NonfiniteStart | None) -> NonfiniteStart:
    if before is None or start.given_state != "Inf":
        return start
    first = FirstInfinity(before.node, before.value)
    return msgspec.structs.replace(start, infinity=first)


def _start(node: Node, details: NodeDetails) -> NonfiniteStart | None:
    given: list[tuple[str, State]] = []
    made: list[tuple[str, State]] = []
    for pair in details.values:
        state = _state(_of_side(node.side, pair.problem, pair.benchmark))
        if state is not None:
            (made if pair.role in _OUTPUTS else given).append((f"{pair.role}.{pair.path}", state))
    if not made:
        return None
    value, state = next((one for one in made if one[1] == "NaN"), made[0])
    name, held = next((one for one in given if one[1] == "NaN"), given[0] if given else (None,) * 2)
    return NonfiniteStart(node, value, state, name, held)


def _of_side(side: Side, problem: Value | None, benchmark: Value | None) -> Value | None:
    return problem if side == "problem" else benchmark


def _state(value: Value | None) -> State | None:
    if value is None:
        return None
    numbers = (value.max, value.min, value.mean, value.norm)
    if "nan" in numbers:
        return "NaN"
    # A norm alone overflows where its squares do.
    return "Inf" if {"inf", "-inf"} & {value.max, value.min} else None
