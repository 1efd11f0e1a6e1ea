"""The way back of one node as it is told: by the links that the counts and lists go by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from builder.results.database import ResultDatabase
from builder.results.followers.carry_edges import FED, INPUT, INSIDE, KINDS
from builder.results.followers.reach import EARLIER
from builder.results.followers.states import SHOWN
from builder.results.followers.step import StepFollowers
from builder.results.followers.ways import BackStep
from builder.results.node_words import NOTHING
from builder.results.reading import ReadsNodes, ReadsPairs, ReadsValues, Results
from builder.results.records import Node, Passed
from builder.results.trace import Hop, Link, Trace, start_of

ReadStep = Callable[[int, int], StepFollowers]
AskPassed = Callable[[list[int], list[int]], Passed | None]
"""The worst value that passed between nodes of some rows: to readers, from makers."""
# A difference that weights carry from step to step is followed so far back.
_MOST_STEPS = 8


def told_way(results: Results, read_step: ReadStep, node: int) -> Trace:
    """The way from a node to the cause that it goes back to, or as far as one leads.

    What the step before wrote is followed there. Calls that one run alone makes have the score of
    what they hand on. Raises UnknownNodeError.
    """
    own = results.own_way(node)
    way = _way(results, read_step, node) if own is None else own
    return _scored(results, way)


def _way(results: Results, read_step: ReadStep, node: int) -> Trace:
    start = results.node(node)
    step, rank = results.place_of(node)
    here = read_step(step, rank)
    row = here.row_of(node)
    hops = [start_of(start)]
    key = int(here.rows.key[row])
    if key != node:
        hops.append(_hop(results.node(key), "partner", None))
    hops += _within(results, here, row, None)
    cause = int(here.followers.cause[here.start_of(row)])
    differs = bool(here.carrying[row]) or cause != NOTHING
    for _ in range(_MOST_STEPS):
        before, writer = _written_before(results, here, hops[-1].node)
        if cause != EARLIER or before is None or writer is None:
            break
        here = read_step(before, rank)
        hops.append(writer)
        at = here.row_of(writer.node)
        hops += _within(results, here, at, before)
        cause = int(here.followers.cause[here.start_of(at)])
    finding = _finding(results, hops[-1].node) if cause >= 0 else None
    return Trace(step, rank, finding, differs, hops)


def _scored(results: ReadsValues, way: Trace) -> Trace:
    """The way with the scores of what is handed on; its start alone where nothing differs."""
    alone = [hop.node for hop in way.hops if hop.score is None and not hop.matched]
    handed = results.handed_on(alone) if alone else {}
    scores = {node: one.score for node, one in handed.items()}
    hops = [replace(hop, score=scores.get(hop.node, hop.score)) for hop in way.hops]
    if way.finding is None and nothing_differs(hops):
        return replace(way, hops=hops[:1], differs=False)
    return replace(way, hops=hops)


def nothing_differs(hops: Sequence[Hop]) -> bool:
    """Whether a way without a cause is of calls without partners that hand on what agrees."""
    return all(hop.score is not None and hop.score < SHOWN for hop in hops)


def _within(results: ReadsNodes, here: StepFollowers, row: int, step: int | None) -> Iterator[Hop]:
    """The hops behind a row; of one that does not differ those of what is in it."""
    start = here.start_of(row)
    steps = [BackStep(start, INSIDE)] if start != row else []
    if here.carrying[start]:
        steps += here.steps_back(start)
    keys = here.rows.key
    ask = partial(_passed, results)
    nodes = {n.id: n for n in results.nodes_by_id([int(keys[one.row]) for one in steps])}
    for reader, one in zip([row, *(each.row for each in steps)], steps, strict=False):
        made = nodes.get(int(keys[one.row]))
        if made is not None:
            ends = here.ids_of(reader), here.makers_of(reader, one.row)
            yield replace(hop_through(ask, here, ends, one, made), step=step)


def hop_through(
    ask: AskPassed,
    here: StepFollowers,
    ends: tuple[list[int], list[int]],
    step: BackStep,
    made: Node,
) -> Hop:
    """The hop to what made something, from readers to makers; `ask` says what passed."""
    if not step.certain:
        return _hop(made, "guess", None)
    passed = ask(*ends) if step.kind == INPUT else None
    if passed is not None:
        return _hop(made, "input", None, passed.value, passed.output, passed.exact)
    if step.kind in (INPUT, FED):
        for one in here.gradient_readers if step.kind == INPUT else here.fed_readers:
            if one.reader in ends[0] and one.holder in ends[1]:
                return _hop(made, KINDS[step.kind], None, one.value, one.parameter)
    return _hop(made, KINDS[step.kind], None)


def _passed(results: ReadsNodes, readers: list[int], makers: list[int]) -> Passed | None:
    """The worst value that passed between rows; msprobe's own files say it in their own ways."""
    return results.passed(readers, makers) if isinstance(results, ResultDatabase) else None


def _written_before(
    results: ReadsNodes, here: StepFollowers, node: int
) -> tuple[int | None, Hop | None]:
    """What wrote, in the step before, the worst value that a node reads of it."""
    before, read = here.step_before
    found = next((one for one in read if one.node == node), None)
    if before is None or found is None:
        return None, None
    return before, _hop(results.node(found.writer), found.link, before, found.value, found.output)


def _finding(results: ReadsPairs, node: int) -> int:
    """The number of the finding that names a node; 0 where measures alone show it first."""
    for one in results.findings().findings:
        if one.node.id == node or any(place.node == node for place in one.places):
            return one.id
    return 0


def _hop(
    node: Node,
    link: Link,
    step: int | None,
    value: str | None = None,
    output: str | None = None,
    exact: bool = False,
) -> Hop:
    own = (node.id, node.name, node.side, node.order, node.score, node.input_score)
    return Hop(*own, link, value, output, exact, node.match is not None, step)
