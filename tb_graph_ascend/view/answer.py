"""The answer to "where does it begin?" over a whole file: causes, and what was not compared.

One cause that is on many ranks and steps is one record, however many findings name it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from builder.results.certainty import is_certain, share_of
from builder.results.reading import Results
from builder.results.records import Count, Finding, FindingPlace, Node, Pair
from tb_graph_ascend.view.diff.index import DiffIndex
from tb_graph_ascend.view.module_path import call_number, modules_of

MOST_CAUSES = 200
MOST_PLACES = 100
MOST_NODES = 10_000


class CausePlace(msgspec.Struct, frozen=True):
    """A step and rank that a cause is on, and its node there with the module it stands in.

    `module` is None at the top level.
    """

    step: int
    rank: int
    node: int
    name: str
    module: str | None


class Cause(msgspec.Struct, frozen=True):
    """What begins to differ.

    `finding` is the best of those that name it, `places` are some of all `place_count`, as many of
    each step and rank, and `nodes` the nodes of all as far as they are sent. `module`
    is None at the top level, `stack` is of the problem run, else of the benchmark; `stack_there` is
    of the benchmark where both have one.
    """

    finding: Finding
    module: str | None
    call: Count | None
    stack: list[str] | None
    stack_there: list[str] | None
    ranks: list[int]
    first_step: int
    last_step: int
    step_count: Count
    place_count: Count
    nodes: list[int]
    places: list[CausePlace]


class FailedPair(msgspec.Struct, frozen=True):
    """A step and rank that could not be compared."""

    step: int
    rank: int
    error: str | None


class Coverage(msgspec.Struct, frozen=True):
    """What was compared, and what was not: `one_sided` pairs of graphs exist on one side only.

    `share` is the share of calls with a partner, of the run that has fewer; null without any.
    """

    pairs: Count
    share: float | None
    matched: Count
    unmatched_problem: Count
    unmatched_benchmark: Count
    one_sided: Count
    failed: list[FailedPair]


class Answer(msgspec.Struct, frozen=True):
    """The causes, best first; `cause_count` tells how many there are where some are left out.

    Where the runs share too few calls (`certain` is false), no cause is named. `worst` is the worst
    score of all and `divergent` counts the nodes above the threshold.
    """

    causes: list[Cause]
    cause_count: Count
    certain: bool
    worst: float | None
    divergent: Count
    threshold: float
    coverage: Coverage


class Since(msgspec.Struct, frozen=True):
    """Where it begins by the measures alone, since pairs were made by hand; no node: nowhere."""

    step: int
    rank: int
    node: Node | None
    module: str | None
    call: Count | None


def answer(database: Results) -> Answer:
    """Put the findings of a file together; seen through manual pairs it has none of its own."""
    pairs = database.summary().pairs
    coverage = _coverage(pairs)
    certain = is_certain(coverage.share)
    findings = database.findings()
    groups: dict[tuple[str, str], list[Finding]] = {}
    named = certain and not database.patches.nodes
    for finding in findings.findings if named else ():
        groups.setdefault((finding.node.name, finding.kind), []).append(finding)
    shown = [_Group(group) for group in list(groups.values())[:MOST_CAUSES]]
    modules = modules_of(database, [group.first.node for group in shown])
    modules |= _modules_of_places(database, shown)
    return Answer(
        causes=[_cause(database, group, modules) for group in shown],
        cause_count=len(groups),
        certain=certain,
        worst=max((pair.worst for pair in pairs if pair.worst is not None), default=None),
        divergent=sum(pair.divergent for pair in pairs),
        threshold=findings.threshold,
        coverage=coverage,
    )


def since_mapping(database: Results, index: DiffIndex, step: int, rank: int) -> Since:
    """Where a pair begins to differ as its manual pairs have it measured."""
    rows = np.flatnonzero(index.words.cause)
    if not len(rows):
        return Since(step, rank, None, None, None)
    node = database.node(int(index.rows.key[rows[0]]))
    module = modules_of(database, [node]).get(node.id)
    return Since(step, rank, node, module, call_number(node.name))


@dataclass(frozen=True, slots=True)
class _Group:
    """The findings of one cause, and all places they name."""

    findings: Sequence[Finding]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def places(self) -> list[FindingPlace]:
        return [place for finding in self.findings for place in _places(finding)]

    @property
    def shown(self) -> list[FindingPlace]:
        """The places that are sent."""
        return fair_places(self.places, MOST_PLACES)


def fair_places(places: Sequence[FindingPlace], most: int) -> list[FindingPlace]:
    """Some places in their order: the first of every step and rank before the second of any."""
    seen: dict[tuple[int, int], int] = {}
    turns = []
    for place in places:
        turn = seen[place.step, place.rank] = seen.get((place.step, place.rank), 0) + 1
        turns.append(turn)
    fair = sorted(range(len(places)), key=turns.__getitem__)[:most]
    return [places[at] for at in sorted(fair)]


def _modules_of_places(database: Results, groups: Sequence[_Group]) -> dict[int, str]:
    """The modules of the places that are shown; a name stands in one module on each rank.

    So each step costs no more than the first.
    """
    shown = [place for group in groups for place in group.shown]
    by_name = {(place.rank, place.name): place.node for place in reversed(shown)}
    nodes = database.nodes_by_id(sorted(by_name.values()))
    modules = modules_of(database, nodes)
    known = {place.node: modules.get(by_name[place.rank, place.name]) for place in shown}
    return {node: module for node, module in known.items() if module is not None}


def _cause(database: Results, group: _Group, modules: dict[int, str]) -> Cause:
    first, places = group.first, group.places
    stack = database.details(first.node.id).stack
    return Cause(
        finding=first,
        module=modules.get(first.node.id),
        call=call_number(first.node.name),
        stack=stack.problem or stack.benchmark,
        stack_there=stack.benchmark if stack.problem else None,
        ranks=sorted({place.rank for place in places}),
        first_step=min(place.step for place in places),
        last_step=max(place.step for place in places),
        step_count=len({place.step for place in places}),
        place_count=len(places),
        nodes=[place.node for place in places[:MOST_NODES]],
        places=[
            CausePlace(place.step, place.rank, place.node, place.name, modules.get(place.node))
            for place in group.shown
        ],
    )


def _places(finding: Finding) -> list[FindingPlace]:
    itself = FindingPlace(finding.step, finding.rank, finding.node.id, finding.node.name)
    return [itself, *finding.places]


def _coverage(pairs: Sequence[Pair]) -> Coverage:
    compared = [pair for pair in pairs if pair.status == "ok"]
    return Coverage(
        pairs=len(compared),
        share=share_of(compared),
        matched=sum(pair.matched for pair in compared),
        unmatched_problem=sum(pair.unmatched_problem for pair in compared),
        unmatched_benchmark=sum(pair.unmatched_benchmark for pair in compared),
        one_sided=sum(pair.status == "missing" for pair in pairs),
        failed=[
            FailedPair(pair.step, pair.rank, pair.error)
            for pair in pairs
            if pair.status == "failed"
        ],
    )
