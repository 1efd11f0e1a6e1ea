"""Nodes of a step that read what the optimizer of the step before wrote, and that differs: weights.

It is the rule by which a trace goes on into the step before, for all nodes of a step at once.
"""

from __future__ import annotations

import sqlite3
from math import isfinite
from typing import Any, TypeAlias

from builder.results.opening import limit_time

_Numbers: TypeAlias = tuple[Any, ...]
# What runs after the last gradient of a step is its optimizer.
_WRITTEN = (
    "SELECT node.id, node.match, record.max, record.min, record.mean, record.norm "
    "FROM node JOIN record ON record.id BETWEEN node.first_value "
    "AND node.first_value + node.value_count - 1 JOIN form ON form.id = record.form "
    "WHERE node.graph = ? AND form.role IN ('output', 'parameters_grad') AND node.exec_order > "
    "(SELECT MAX(exec_order) FROM node WHERE graph = ? AND direction = 'backward')"
)
_READ = (
    "SELECT node.id, record.max, record.min, record.mean, record.norm, "
    "other.max, other.min, other.mean, other.norm "
    "FROM node JOIN record ON record.id BETWEEN node.first_value "
    "AND node.first_value + node.value_count - 1 JOIN form ON form.id = record.form "
    "LEFT JOIN record AS other ON other.id = record.partner "
    "WHERE node.graph = ? AND form.role NOT IN ('output', 'parameters_grad') "
    "AND record.score > ?"
)
_DIFFER = (
    "SELECT id FROM node WHERE graph = ? AND (score > ? OR input_score > ? OR source IS NOT NULL)"
)
_BEFORE = (
    "SELECT before.id, before.step FROM graph AS before JOIN graph AS here "
    "ON here.step = ? AND here.rank = ? AND here.side = before.side "
    "WHERE before.side = ? AND before.rank = here.rank AND before.step < here.step "
    "ORDER BY before.step DESC LIMIT 1"
)
_HERE = "SELECT id FROM graph WHERE step = ? AND rank = ? AND side = 'problem'"


def carried_weights(
    connection: sqlite3.Connection, step: int, rank: int, threshold: float
) -> tuple[int | None, list[int]]:
    """The step before, and the nodes of the problem that read of it what differs.

    NaN looks the same everywhere: there the benchmark's value tells who wrote it.
    """
    limit_time(connection)
    here = connection.execute(_HERE, (step, rank)).fetchone()
    ours, theirs = (
        connection.execute(_BEFORE, (step, rank, side)).fetchone()
        for side in ("problem", "benchmark")
    )
    if here is None or ours is None:
        return None, []
    differ = {row[0] for row in connection.execute(_DIFFER, (ours[0], threshold, threshold))}
    written = _written(connection, ours[0])
    partners = _written(connection, theirs[0]) if theirs is not None else {}
    found = []
    for node, *numbers in connection.execute(_READ, (here[0], threshold)):
        own, other = tuple(numbers[:4]), tuple(numbers[4:])
        writer = written[own][0] if own in written else partners.get(other, (None, None))[1]
        if writer in differ:
            found.append(node)
    return ours[1], sorted(set(found))


def _written(connection: sqlite3.Connection, graph: int) -> dict[_Numbers, tuple[int, int | None]]:
    """By its numbers who wrote a value last, and that one's partner."""
    rows = connection.execute(f"{_WRITTEN} ORDER BY node.exec_order", (graph, graph))
    return {
        tuple(numbers): (node, partner)
        for node, partner, *numbers in rows
        if all(isinstance(number, float) and isfinite(number) for number in numbers)
    }
