"""The answer to "where does it begin?" over a whole file: causes, and what was not compared.

One cause that is on many ranks and steps is one record, however many findings name it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

import msgspec

from builder.claim import Claim, claim
from builder.reasons import replaced_by
from builder.results.certainty import is_certain, names_beginnings, share_of
from builder.results.database import ResultDatabase
from builder.results.engine import driver_of
from builder.results.extent import Extent, extent_of
from builder.results.followers.named_causes import does_heal
from builder.results.followers.spread import worst_scores
from builder.results.followers.standing import changed_names, is_touched
from builder.results.reading import ReadsNodes, ReadsPairs, Results
from builder.results.records import Count, Finding, FindingPlace, Node, Pair
from builder.results.shown_evidence import FileState, evidence_of_file
from tb_graph_ascend.view.module_path import (
    call_number,
    path_of,
    shared_entries_of,
    shared_modules_of,
    spoken_module,
)

MOST_CAUSES = 200
MOST_PLACES = 2_000  # of one cause, and of all together, some 120 bytes each
LEAST_PLACES = 100  # of every cause, whatever those before it have
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
    each step and rank, and `nodes` the nodes of all as far as they are sent. `module` is None at
    the top level, `spoken` is the same as people speak of it, `stack` is of the problem run, else
    of the benchmark; `stack_there` is of the benchmark where both have one. `touched`: manual pairs
    that the diagnosis did not know changed its call, what is in it, or a call that its reasons
    name. `worst` is the worst score that it brings about: its own, where that says something.
    """

    finding: Finding
    worst: float | None
    module: str | None
    spoken: str | None
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
    touched: bool


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

    @property
    def is_whole(self) -> bool:
        """Whether all that either run recorded was compared."""
        alone = self.unmatched_problem + self.unmatched_benchmark
        return alone + self.one_sided + len(self.failed) == 0


class Answer(msgspec.Struct, frozen=True):
    """The causes, best first; `cause_count` tells how many there are where some are left out.

    Where the runs share too few calls (`certain` is false), no cause is named; nor is one after
    manual pairs where the diagnosis, made without them, could name none. `worst` is the worst
    score of all and `divergent` counts the nodes above the threshold. `extent` tells how far apart
    two runs are of which no node is above it. `claim` is what may be said of them, and on what.
    """

    causes: list[Cause]
    cause_count: Count
    certain: bool
    worst: float | None
    divergent: Count
    threshold: float
    coverage: Coverage
    extent: Extent | None
    claim: Claim


class Since(msgspec.Struct, frozen=True):
    """Where it begins since pairs were made by hand; no node: nowhere that was measured.

    It is a cause that stands, else the first call that differs by the measures alone.

    Its module, its stacks and `line_alone` are as those of a cause.
    """

    step: int
    rank: int
    node: Node | None
    module: str | None
    spoken: str | None
    call: Count | None
    stack: list[str] | None
    stack_there: list[str] | None
    line_alone: bool = False


def answer(database: Results, built: Results | None = None) -> Answer:
    """Put the findings of a file together.

    Seen through manual pairs they are those of `built`, the same file without them: the diagnosis
    knows no others.
    """
    summary = database.summary()
    pairs = summary.pairs
    coverage = _coverage(pairs)
    diagnosed = built or database
    findings = diagnosed.findings()
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings.findings if names_beginnings(diagnosed) else ():
        groups.setdefault((finding.node.name, finding.kind), []).append(finding)
    shown = _with_places(list(groups.values())[:MOST_CAUSES])
    entries = shared_entries_of(diagnosed, [group.first.node for group in shown])
    modules = _modules_of_places(diagnosed, shown)
    changed = changed_names(database)
    worst = worst_scores(diagnosed, [group.first for group in shown], findings.threshold)
    divergent = sum(pair.divergent for pair in pairs)
    unnamed = len(findings.findings) if not groups else 0
    return Answer(
        causes=[
            _cause(
                diagnosed,
                group,
                entries.get(group.first.node.id),
                modules,
                changed,
                worst[group.first.id],
            )
            for group in shown
        ],
        cause_count=len(groups),
        certain=is_certain(coverage.share, summary.summary),
        worst=max((pair.worst for pair in pairs if pair.worst is not None), default=None),
        divergent=divergent,
        threshold=findings.threshold,
        coverage=coverage,
        extent=_extent(database) if divergent == 0 and not groups else None,
        claim=_claim(database, coverage, unnamed, list(groups.values())),
    )


def _claim(
    database: ReadsPairs, coverage: Coverage, unnamed: int, groups: Sequence[Sequence[Finding]]
) -> Claim:
    """What may be said of the two runs; pairs made by hand were measured by nobody's evidence."""
    summary = database.summary()
    compared = [pair for pair in summary.pairs if pair.status == "ok"]
    state = FileState(
        failed=[(pair.step, pair.rank) for pair in coverage.failed],
        missing=[(pair.step, pair.rank) for pair in summary.pairs if pair.status == "missing"],
        unmatched=coverage.unmatched_problem + coverage.unmatched_benchmark,
        divergent=sum(pair.divergent for pair in compared),
        scored=any(pair.worst is not None for pair in compared),
        unnamed=unnamed,
        mapped=len(database.patches.nodes),
    )
    # Findings that heal stand behind all others.
    heals = bool(groups) and does_heal(groups[0][0])
    return claim(evidence_of_file(summary.evidence, state), len(groups), heals=heals)


def _extent(database: Results) -> Extent | None:
    """How far apart two runs are, of a file of ours that no manual pair changes."""
    if not isinstance(database, ResultDatabase) or database.patches.nodes:
        return None
    if not database.comparison:
        return None
    with database.stored.engine.connect() as connection:
        return extent_of(driver_of(connection), database.summary().summary)


def since_mapping(database: Results, causes: Iterable[int], step: int, rank: int) -> Since:
    """Where a pair begins to differ as its manual pairs have it measured."""
    first = next(iter(causes), None)
    if first is None:
        return Since(step, rank, None, None, None, None, None, None)
    node = database.node(first)
    entry = shared_entries_of(database, [node]).get(node.id)
    module, call, stacks = _module(entry, node), call_number(node.name), _stacks(database, node)
    return Since(step, rank, node, *module, call, *stacks, _is_line_alone(database, node))


def _is_line_alone(database: ReadsPairs, node: Node) -> bool:
    """Whether a finding at a node says that its line stands in one run alone."""
    lone = (one for one in database.findings().findings if one.line_alone)
    return any(node.id in (one.node.id, *(place.node for place in one.places)) for one in lone)


def _module(entry: str | None, node: Node) -> tuple[str | None, str | None]:
    """The path of the module that a node is or stands in, and how people speak of it."""
    return (None, None) if entry is None else (path_of(entry), spoken_module(entry, node.name))


@dataclass(frozen=True, slots=True)
class _Group:
    """The findings of one cause, all places they name, and those of them that are sent."""

    findings: Sequence[Finding]
    places: Sequence[FindingPlace]
    shown: Sequence[FindingPlace]

    @property
    def first(self) -> Finding:
        return self.findings[0]


def sent_places(counts: Sequence[int]) -> list[int]:
    """How many places of each cause are sent: of the first all, as far as there is room."""
    sent, room = [], MOST_PLACES
    for count in counts:
        sent.append(min(count, max(room, LEAST_PLACES)))
        room -= sent[-1]
    return sent


def _with_places(causes: Sequence[Sequence[Finding]]) -> list[_Group]:
    named = [[place for finding in cause for place in _places(finding)] for cause in causes]
    sent = sent_places([len(places) for places in named])
    return [
        _Group(findings, places, fair_places(places, most))
        for findings, places, most in zip(causes, named, sent, strict=True)
    ]


def fair_places(places: Sequence[FindingPlace], most: int) -> list[FindingPlace]:
    """Some places in their order: the first of every step and rank before the second of any."""
    seen: dict[tuple[int, int], int] = {}
    turns = []
    for place in places:
        turn = seen[place.step, place.rank] = seen.get((place.step, place.rank), 0) + 1
        turns.append(turn)
    fair = sorted(range(len(places)), key=turns.__getitem__)[:most]
    return [places[at] for at in sorted(fair)]


def _modules_of_places(database: ReadsNodes, groups: Sequence[_Group]) -> dict[int, str]:
    """The modules of the places that are shown; a name stands in one module on each rank.

    So each step costs no more than the first.
    """
    shown = [place for group in groups for place in group.shown]
    by_name = {(place.rank, place.name): place.node for place in reversed(shown)}
    nodes = database.nodes_by_id(sorted(by_name.values()))
    modules = shared_modules_of(database, nodes)
    known = {place.node: modules.get(by_name[place.rank, place.name]) for place in shown}
    return {node: module for node, module in known.items() if module is not None}


def _cause(
    database: Results,
    group: _Group,
    entry: str | None,
    modules: dict[int, str],
    changed: Set[str],
    worst: float | None,
) -> Cause:
    first, places = group.first, group.places
    stack, stack_there = _stacks(database, first.node)
    if stack is not None and stack_there is None:
        stack_there = _stack_in_place(database, first)
    module, spoken = _module(entry, first.node)
    return Cause(
        finding=first,
        worst=worst,
        module=module,
        spoken=spoken,
        call=call_number(first.node.name),
        stack=stack,
        stack_there=stack_there,
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
        touched=any(is_touched(finding, changed) for finding in group.findings),
    )


def _stacks(database: ReadsNodes, node: Node) -> tuple[list[str] | None, list[str] | None]:
    """The stack of the problem, else of the benchmark; and that of the benchmark beside it."""
    stack = database.details(node.id).stack
    return stack.problem or stack.benchmark, stack.benchmark if stack.problem else None


def _stack_in_place(database: Results, finding: Finding) -> list[str] | None:
    """The stack of the call that the benchmark makes in place of that of a finding."""
    name = replaced_by(finding.reasons)
    if name is None:
        return None
    theirs = database.side_nodes(finding.step, finding.rank)[1]
    if name not in theirs.names:
        return None
    return database.details(int(theirs.id[theirs.names.index(name)])).stack.benchmark


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
