"""The way back of one node as it is told: by the links that the counts and lists go by."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from builder.results.database import ResultDatabase
from builder.results.node_words import NOTHING
from builder.results.reading import Results
from builder.results.records import Node
from builder.results.trace import Hop, Link, Trace
from tb_graph_ascend.view.diff.back_steps import BackStep
from tb_graph_ascend.view.diff.carrying import INPUT, INSIDE, KINDS_OF_LINK
from tb_graph_ascend.view.diff.index import DiffIndex
from tb_graph_ascend.view.diff.led_back import EARLIER

ReadIndex = Callable[[int, int], DiffIndex]
# A difference that weights carry from step to step is followed so far back.
_MOST_STEPS = 8


def told_way(results: Results, read_index: ReadIndex, node: int) -> Trace:
    """The way from a node to the cause that it goes back to, or as far as one leads.

    What the step before wrote is followed there. Raises UnknownNodeError.
    """
    if not isinstance(results, ResultDatabase) or not results.comparison:
        return results.trace(node)  # msprobe's own files tell ways by themselves
    start = results.node(node)
    step, rank = next((g.step, g.rank) for g in results.graphs if g.id == start.graph)
    index = read_index(step, rank)
    row = index.row_of(node)
    hops = [_hop(start, "start", None)]
    key = int(index.rows.key[row])
    if key != node:
        hops.append(_hop(results.node(key), "partner", None))
    hops += _within(results, index, row, None)
    cause = int(index.led_back.cause[index.start_of(row)])
    for _ in range(_MOST_STEPS):
        before, writer = _written_before(results, index, hops[-1].node)
        if cause != EARLIER or before is None or writer is None:
            break
        index = read_index(before, rank)
        hops.append(writer)
        at = index.row_of(writer.node)
        hops += _within(results, index, at, before)
        cause = int(index.led_back.cause[index.start_of(at)])
    finding = _finding(results, hops[-1].node) if cause >= 0 else None
    return Trace(step, rank, finding, bool(index.carrying[row]) or cause != NOTHING, hops)


def _within(results: ResultDatabase, index: DiffIndex, row: int, step: int | None) -> Iterator[Hop]:
    """The hops behind a row; of one that does not differ those of what is in it."""
    here = index.start_of(row)
    steps = [BackStep(here, INSIDE)] if here != row else []
    if index.carrying[here]:
        steps += index.steps_back(here)
    keys = index.rows.key
    nodes = {n.id: n for n in results.nodes_by_id([int(keys[one.row]) for one in steps])}
    for reader, one in zip([row, *(each.row for each in steps)], steps, strict=False):
        made = nodes.get(int(keys[one.row]))
        if made is not None:
            ends = index.ids_of(reader), index.ids_of(one.row)
            yield replace(_through(results, index, ends, one.kind, made), step=step)


def _through(
    results: ResultDatabase,
    index: DiffIndex,
    ends: tuple[list[int], list[int]],
    kind: int,
    made: Node,
) -> Hop:
    """The hop to what made something, from readers to makers."""
    passed = results.passed(*ends) if kind == INPUT else None
    if passed is None and kind == INPUT:
        for one in index.gradient_readers:
            if one.reader in ends[0] and one.holder in ends[1]:
                return _hop(made, "input", None, one.value, one.parameter)
    if passed is None:
        return _hop(made, KINDS_OF_LINK[kind], None)
    return _hop(made, "input", None, passed.value, passed.output, passed.exact)


def _written_before(
    results: ResultDatabase, index: DiffIndex, node: int
) -> tuple[int | None, Hop | None]:
    """What wrote, in the step before, the worst value that a node reads of it."""
    before, read = index.step_before
    found = next((one for one in read if one.node == node), None)
    if before is None or found is None:
        return None, None
    return before, _hop(results.node(found.writer), "before", before, found.value, found.output)


def _finding(results: ResultDatabase, node: int) -> int:
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
