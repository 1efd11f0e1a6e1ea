"""A node of a result: why it differs, who feeds it and whom it feeds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from builder.dump.stack_frames import SourceLine, source_lines
from builder.reasons import sentences
from builder.results.followers.told_way import told_way
from builder.results.reading import ReadsNodes, ReadsPairs
from builder.results.records import FlowLink, Node, Stacks
from builder.results.trace import Hop, Trace
from msprobe.answers.arguments import OfNode
from msprobe.answers.asked_node import asked_node
from msprobe.answers.known_findings import module_around
from msprobe.answers.result_folder import ResultFolder
from msprobe.answers.way_words import reasons_of_finding, way_end


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A node with its scores: of what went in, of what came out, and what it adds itself.

    `partner` is the node of the other run, `match_reason` how it was found or why there is none.
    """

    node: str
    node_id: int
    step: int
    rank: int
    side: str
    kind: str
    direction: str | None
    inside: str | None
    input_score: float | None
    score: float | None
    introduced: float | None
    verdict: str | None
    overflow: str | None
    divergent_below: int
    partner: str | None
    match_reason: str | None
    reasons: list[str]


class ExplainedNode(msgspec.Struct, frozen=True):
    """Why a node differs: its scores, the line that calls it, and the way back to its cause.

    `way` is what `msprobe diagnose --explain --json` has under `hops`; it ends at `finding`, with
    that finding's reasons, or as `end` says. `problem_stack` and `benchmark_stack` hold the
    model's line and the user's own where that is another.
    """

    result: str
    node: NodeFacts
    finding: int | None
    finding_reasons: list[str]
    end: str | None
    problem_stack: list[SourceLine]
    benchmark_stack: list[SourceLine]
    way: list[Hop]


class Neighbour(msgspec.Struct, frozen=True):
    """A call that made an input of the node (`made_input`), or reads an output (`reads_output`).

    `value` is the value's key where it is read; `exact` is false where equal numbers tell who made
    it, and not the dump.
    """

    relation: str
    node: str
    node_id: int
    value: str
    exact: bool
    input_score: float | None
    score: float | None
    matched: bool


class Neighbours(msgspec.Struct, frozen=True):
    """Who made the inputs of a node, then who reads its outputs, each in the order of execution."""

    result: str
    node: str
    node_id: int
    neighbours: list[Neighbour]


def explain_node(folder: ResultFolder, asked: OfNode) -> ExplainedNode:
    """Why a node differs, and where that began."""
    file, results, node = asked_node(folder, asked)
    details = results.details(node.id)
    way = told_way(results, partial(folder.followers, file), node.id)
    problem, benchmark = _lines(details.stack)
    return ExplainedNode(
        result=file.shown,
        node=_facts(results, details.node, details.partner, way),
        finding=way.finding,
        finding_reasons=reasons_of_finding(file.path, way.finding),
        end=None if way.finding is not None else _end(results, way),
        problem_stack=problem,
        benchmark_stack=benchmark,
        way=way.hops,
    )


def _end(results: ReadsPairs, way: Trace) -> str:
    return way_end(way) if results.comparison else "one run was drawn alone: nothing can differ"


def node_neighbours(folder: ResultFolder, asked: OfNode) -> Neighbours:
    """What fed a node, and what it fed."""
    file, results, node = asked_node(folder, asked)
    flow = results.flow(node.id)
    makers = [_neighbour("made_input", link) for link in flow.producers]
    readers = [_neighbour("reads_output", link) for link in flow.consumers]
    return Neighbours(file.shown, node.name, node.id, makers + readers)


def _facts(results: ReadsNodes, node: Node, partner: Node | None, way: Trace) -> NodeFacts:
    return NodeFacts(
        node=node.name,
        node_id=node.id,
        step=way.step,
        rank=way.rank,
        side=node.side,
        kind=node.kind,
        direction=node.direction,
        inside=module_around(results, node.id),
        input_score=node.input_score,
        score=node.score,
        introduced=node.introduced,
        verdict=node.verdict,
        overflow=node.overflow,
        divergent_below=node.divergent_below,
        partner=None if partner is None else partner.name,
        match_reason=node.match_reason,
        reasons=sentences(node.reasons),
    )


def _lines(stacks: Stacks) -> Iterator[list[SourceLine]]:
    for stack in (stacks.problem, stacks.benchmark):
        yield source_lines(stack or ())


def _neighbour(relation: str, link: FlowLink) -> Neighbour:
    node = link.node
    return Neighbour(
        relation,
        node.name,
        node.id,
        link.path,
        link.exact,
        node.input_score,
        node.score,
        node.match is not None,
    )
