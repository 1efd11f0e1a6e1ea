"""What a way back is told of: what passed along each edge, where ways end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter

import msgspec

from builder.results.database import ResultDatabase
from builder.results.followers.carry_edges import Edges
from builder.results.followers.named_causes import by_place
from builder.results.followers.step import StepFollowers
from builder.results.followers.told_way import AskPassed, hop_through
from builder.results.followers.ways import BackStep
from builder.results.reading import ReadsPairs, Results
from builder.results.records import Node, Passed
from builder.results.trace import Link

_AT_ONCE = 500


class PassedAlong(msgspec.Struct, frozen=True):
    """How an edge is told: its link, and the value that passed, as a hop has them."""

    link: Link
    value: str | None
    output: str | None
    exact: bool


class Written(msgspec.Struct, frozen=True):
    """What wrote, in the step before, the worst value that a node reads of it."""

    writer: int
    value: str | None
    output: str | None
    link: Link


class Origins(msgspec.Struct, frozen=True):
    """Where ways of a step and rank end: findings by node, and what the step `before` wrote."""

    findings: Mapping[str, int]
    before: int | None
    written: Mapping[str, Written]


def followed(here: StepFollowers) -> Edges:
    """The edges that ways lead along: those between rows that may be passed."""
    return here.edges.between(here.over.perhaps, here.over.perhaps)


def passed_along(results: Results, here: StepFollowers, edges: Edges) -> Iterator[PassedAlong]:
    """What a way says of each edge that it leads along."""
    cells = zip(edges.start.tolist(), edges.end.tolist(), strict=True)
    keys = here.rows.key
    ask = _passed_by(results, int(keys[0])) if len(keys) else _nothing
    known: dict[int, Node] = {}
    for place, (start, end) in enumerate(cells):
        if place % _AT_ONCE == 0:
            part = keys[edges.start[place : place + _AT_ONCE]].tolist()
            known = {node.id: node for node in results.nodes_by_id(set(part))}
        step = BackStep(start, int(edges.kind[place]), bool(edges.certain[place]))
        ends = here.ids_of(end), here.makers_of(end, start)
        hop = hop_through(ask, here, ends, step, known[int(keys[start])])
        yield PassedAlong(hop.link, hop.value, hop.output, hop.exact)


def _passed_by(results: Results, node: int) -> AskPassed:
    """The answers of `Results.passed`, of all nodes at once: an edge each would be a query each."""
    if not isinstance(results, ResultDatabase):
        return _nothing
    known = results.passed_everywhere(node)

    def ask(readers: list[int], makers: list[int]) -> Passed | None:
        pairs = ((reader, maker) for reader in readers for maker in makers)
        found = [known[pair] for pair in pairs if pair in known]
        return min(found, key=itemgetter(0))[1] if found else None

    return ask


def _nothing(readers: list[int], makers: list[int]) -> None:
    return None


def origins_of(results: ReadsPairs, here: StepFollowers, place: tuple[int, int]) -> Origins:
    """Where ways of a step and rank end."""
    findings: dict[str, int] = {}
    for one in by_place(results.findings().findings).get(place, ()):
        for node in one.nodes:
            findings.setdefault(str(node), one.finding.id)
    before, read = here.step_before
    written: dict[str, Written] = {}
    for each in read:
        written.setdefault(str(each.node), Written(each.writer, each.value, each.output, each.link))
    return Origins(findings, before, written)
