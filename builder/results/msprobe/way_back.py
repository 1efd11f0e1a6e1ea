"""The way back from a node of msprobe's own files, told by equal values: nothing else is in them.

Such a file has no diagnosis, so a way ends at the last node that msprobe's own rules call an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from builder.results.msprobe.graph import THRESHOLD, MsprobePair, Passed
from builder.results.records import Node, Side
from builder.results.trace import Hop, Link, Trace
from msprobe_core.format import NameSyntaxError, parse_entry

Reached = tuple[Node, Link, str | None]


def way_back(
    pair: MsprobePair,
    start: Node,
    place: tuple[int, int],
    passed: Callable[[Side], Sequence[Passed]],
    findings: Mapping[int, int],
) -> Trace:
    """The way from a node; `findings` are the numbers of those of its step and rank, by node.

    A maker is followed where its own values differ, the worst first. What lies behind the last
    finding on the way is left out.
    """
    here, way = start, _Way(pair, passed)
    hops = [_hop(start, "start", None)]
    seen = {start.id}
    while reached := next((one for one in way.back(here) if one[0].id not in seen), None):
        here = reached[0]
        seen.add(here.id)
        hops.append(_hop(*reached))
    last = max((at for at, hop in enumerate(hops, 1) if hop.node in findings), default=len(hops))
    return Trace(*place, findings.get(hops[last - 1].node), _differs(start), hops[:last])


class _Way:
    def __init__(self, pair: MsprobePair, passed: Callable[[Side], Sequence[Passed]]) -> None:
        self._pair = pair
        self._passed = passed
        self._read: dict[Side, dict[int, list[Passed]]] = {}
        self._ids: dict[tuple[Side, str], int] = {}

    def back(self, here: Node) -> Iterator[Reached]:
        """Where a difference may have come from, the best way first."""
        partner = self._pair.nodes.get(here.match) if here.match is not None else None
        if here.side == "benchmark" and partner is not None and _differs(partner):
            yield partner, "partner", None
        yield from self._makers(here)
        for child in self._pair.children.get(here.id, []):
            inner = self._pair.nodes[child]
            if _differs(inner):
                yield inner, "inside", None
        forward = self._forward(here)
        if forward is not None and _differs(forward):
            yield forward, "forward", None

    def _makers(self, here: Node) -> list[Reached]:
        """What put out the inputs of a node and differs, the worst first."""
        if here.side not in self._read:
            by_reader = self._read[here.side] = {}
            for one in self._passed(here.side):
                by_reader.setdefault(one.consumer, []).append(one)
        makers: list[Reached] = [
            (self._pair.nodes[one.producer], "input", one.key.removeprefix(f"{here.name}."))
            for one in self._read[here.side].get(here.id, [])
            if _differs(self._pair.nodes[one.producer])
        ]
        return sorted(makers, key=lambda reached: -(reached[0].score or 0.0))

    def _forward(self, here: Node) -> Node | None:
        """The call that a gradient belongs to."""
        name = _forward_name(here)
        if name is None:
            return None
        if not self._ids:
            self._ids = {(node.side, node.name): id_ for id_, node in self._pair.nodes.items()}
        id_ = self._ids.get((here.side, name))
        return None if id_ is None else self._pair.nodes[id_]


def _forward_name(node: Node) -> str | None:
    """The name of the call that a gradient belongs to; None of what is no backward call."""
    if node.direction != "backward":
        return None
    try:
        return parse_entry(node.name).twin("forward")
    except NameSyntaxError:
        return None


def _differs(node: Node) -> bool:
    return (node.score or 0.0) > THRESHOLD


def _hop(node: Node, link: Link, value: str | None) -> Hop:
    own = (node.id, node.name, node.side, node.order, node.score, node.input_score)
    return Hop(*own, link, value, matched=node.match is not None)
