"""What a step and rank holds by node, beside the node itself; the page makes answers of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from builder.results.database import ResultDatabase
from builder.results.flow_links import PlacedLinks
from builder.results.reading import Results
from builder.results.records import CommunicationLink, HandedOn, Node, ValuePair
from builder.results.value_measures import FROM_STATISTICS
from tb_graph_ascend.view.module_path import modules_of
from tb_graph_ascend.view.search.scores_alone import scores_alone

_AT_ONCE = 900


class NodeFacts(msgspec.Struct, frozen=True):
    """Of a node its module, what a lone one hands on and the score it is listed with, its stack.

    `values` is the line of its values among those of the step and rank, -1 where none are kept.
    """

    module: str | None
    handed_on: HandedOn | None
    score: float | None
    stack: int | None
    communication: list[CommunicationLink]
    values: int


class ShownValue(msgspec.Struct, frozen=True):
    """A value of both sides; `follow` says that measures of the statistics follow from them."""

    value: ValuePair
    follow: bool


class ValueLines:
    """The line of each pair of nodes: both have the same values."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._lines: dict[tuple[int, int], int] = {}
        self.of = [self._lines.setdefault(_pair(one), len(self._lines)) for one in nodes]

    @property
    def first(self) -> list[int]:
        """A node of each line."""
        return [own if own >= 0 else other for own, other in self._lines]


def _pair(node: Node) -> tuple[int, int]:
    match = -1 if node.match is None else node.match
    return (node.id, match) if node.side == "problem" else (match, node.id)


def node_facts(
    results: Results, nodes: Sequence[Node], lines: Sequence[int]
) -> Iterator[NodeFacts]:
    """What stands beside each node."""
    for start in range(0, len(nodes), _AT_ONCE):
        part = nodes[start : start + _AT_ONCE]
        ids = [node.id for node in part]
        lone = [node.id for node in part if node.match is None]
        handed, scores = results.handed_on(lone), scores_alone(results, lone)
        modules, stacks = modules_of(results, part), results.stacks_by_id(ids)
        links = results.links_of(ids) if isinstance(results, ResultDatabase) else {}
        for node, line in zip(part, lines[start : start + _AT_ONCE], strict=True):
            yield NodeFacts(
                modules.get(node.id),
                handed.get(node.id),
                scores.get(node.id),
                stacks.get(node.id),
                links.get(node.id, []),
                line,
            )


def shown_values(results: ResultDatabase, lines: ValueLines) -> Iterator[list[ShownValue]]:
    """The values of each line; what follows from others is left out."""
    first = lines.first
    for start in range(0, len(first), _AT_ONCE):
        for values in results.values_of(first[start : start + _AT_ONCE]):
            yield [_shown(value) for value in values]


def _shown(pair: ValuePair) -> ShownValue:
    """Without the measures that subtraction and division make of finite statistics."""
    if not _follow(pair):
        return ShownValue(pair, False)
    kept = {name: cell for name, cell in pair.measures.items() if name not in FROM_STATISTICS}
    return ShownValue(msgspec.structs.replace(pair, measures=kept), True)


def _follow(pair: ValuePair) -> bool:
    ours, theirs, known = pair.problem, pair.benchmark, pair.measures
    if ours is None or theirs is None or not known.keys() >= FROM_STATISTICS:
        return False
    cells = {
        "Max": (ours.max, theirs.max),
        "Min": (ours.min, theirs.min),
        "Mean": (ours.mean, theirs.mean),
        "Norm": (ours.norm, theirs.norm),
    }
    if any(isinstance(cell, str) for both in cells.values() for cell in both):
        return False
    return all((None in both) == (known[f"{name} diff"] is None) for name, both in cells.items())


def stacks_of(results: ResultDatabase, ids: Sequence[int]) -> dict[int, list[str]]:
    """The frames of each stack of nodes by its number, rising."""
    return dict(sorted(results.stack_texts(results.stacks_by_id(ids)).items()))


def link_cells(links: PlacedLinks) -> dict[str, NDArray[Any]]:
    """Columns by link: a value that passed from one call to another."""
    return {
        "producer": np.array(links.producer, np.int64),
        "consumer": np.array(links.consumer, np.int64),
        "value": np.array(links.value, np.int64),
        "exact": np.array(links.exact, np.bool_),
        "path": np.array(links.path, np.int64),
    }
