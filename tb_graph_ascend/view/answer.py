"""The answer to "where does it begin?" over a whole file: causes, and what was not compared.

One cause that is on many ranks and steps is one record, however many findings name it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from builder.results.reading import Results
from builder.results.records import Count, Finding, Node, Pair
from tb_graph_ascend.view.certainty import is_certain, share_of
from tb_graph_ascend.view.diff.index import DiffIndex
from tb_graph_ascend.view.module_path import call_number, modules_of

MOST_CAUSES = 200
MOST_PLACES = 100


class CausePlace(msgspec.Struct, frozen=True):
    """A step and rank that a cause is on, and its node there.

    Of the `divergent` nodes of that step and rank the file lays `led_back` to this one, itself
    included; null where the file lays no node to another.
    """

    step: int
    rank: int
    node: int
    divergent: Count
    led_back: Count | None


class Cause(msgspec.Struct, frozen=True):
    """What begins to differ.

    `finding` is the best of those that name it, `places` the first of all `place_count`. `module`
    is None at the top level, `stack` is of the problem run, else of the benchmark. `divergent` and
    `led_back` are those of all its places together, each step and rank counted once; `later` counts
    the divergent nodes of its ranks in the steps after its last.
    """

    finding: Finding
    module: str | None
    call: Count | None
    stack: list[str] | None
    ranks: list[int]
    first_step: int
    last_step: int
    step_count: Count
    place_count: Count
    places: list[CausePlace]
    divergent: Count
    led_back: Count | None
    later: Count


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
    shown = list(groups.values())[:MOST_CAUSES]
    modules = modules_of(database, [group[0].node for group in shown])
    laid = database.led_back([n for group in shown for f in group for n in _nodes(f)])
    here = _Divergent({(p.step, p.rank): p.divergent for p in pairs}, laid)
    return Answer(
        causes=[_cause(database, group, modules, here) for group in shown],
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
class _Divergent:
    """Divergent nodes: how many each step and rank has, and how many the file lays to each node."""

    of_pair: Mapping[tuple[int, int], int]
    laid: Mapping[int, int] | None

    def place(self, step: int, rank: int, node: int) -> CausePlace:
        led_back = None if self.laid is None else self.laid.get(node, 0)
        return CausePlace(step, rank, node, self.of_pair.get((step, rank), 0), led_back)

    def after(self, step: int, ranks: Collection[int]) -> int:
        return sum(n for (s, rank), n in self.of_pair.items() if s > step and rank in ranks)


def _cause(
    database: Results, group: Sequence[Finding], modules: dict[int, str], here: _Divergent
) -> Cause:
    first = group[0]
    places = [here.place(*place) for finding in group for place in _places(finding)]
    stack = database.details(first.node.id).stack
    ranks = sorted({place.rank for place in places})
    last = max(place.step for place in places)
    return Cause(
        finding=first,
        module=modules.get(first.node.id),
        call=call_number(first.node.name),
        stack=stack.problem or stack.benchmark,
        ranks=ranks,
        first_step=min(place.step for place in places),
        last_step=last,
        step_count=len({place.step for place in places}),
        place_count=len(places),
        places=places[:MOST_PLACES],
        divergent=sum({(p.step, p.rank): p.divergent for p in places}.values()),
        led_back=None if here.laid is None else sum(place.led_back or 0 for place in places),
        later=here.after(last, ranks),
    )


def _places(finding: Finding) -> list[tuple[int, int, int]]:
    repeats = [(place.step, place.rank, place.node) for place in finding.places]
    return [(finding.step, finding.rank, finding.node.id), *repeats]


def _nodes(finding: Finding) -> list[int]:
    return [node for _, _, node in _places(finding)]


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
