"""Turns the weights that two programs share into rows of the database."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from builder.match.implementations.weight_pairs import WeightPair
from builder.write.placement import Placed

Row = tuple[object, ...]


def weight_rows(pairs: Sequence[WeightPair], problem: Placed) -> Iterator[Row]:
    """Rows of the table `weight`, in the order of the problem's parameters."""
    holders = sorted(
        (node for node in problem.tree.in_order if node.values[0] < node.values[1]),
        key=lambda node: node.values[0],
    )
    firsts = [node.values[0] for node in holders]
    for pair in sorted(pairs, key=lambda each: each.problem[0].index):
        holder = holders[bisect_right(firsts, pair.problem[0].index) - 1]
        paths = (json.dumps([p.path for p in side]) for side in (pair.problem, pair.benchmark))
        yield (problem.graph, problem.id_of(holder), *paths, pair.relation, int(pair.by_hand))
