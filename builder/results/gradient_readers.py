"""Which calls of an optimizer read the gradient of a weight that differs, told by equal numbers."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from math import isfinite

import msgspec

from builder.results.opening import limit_time

_VALUES = (
    "SELECT node.id, form.role, form.path, record.max, record.min, record.mean, record.norm "
    "FROM node JOIN graph ON graph.id = node.graph JOIN record ON record.id "
    "BETWEEN node.first_value AND node.first_value + node.value_count - 1 "
    "JOIN form ON form.id = record.form "
    "WHERE graph.step = ? AND graph.rank = ? AND graph.side = 'problem' AND record.score > ? "
)
_HELD = f"{_VALUES} AND form.role = 'parameters_grad'"
_READ = (
    f"{_VALUES} AND form.role NOT IN ('output', 'parameters_grad') AND node.exec_order > "
    "(SELECT MAX(exec_order) FROM node AS last WHERE last.graph = node.graph "
    "AND last.direction = 'backward')"
)


class GradientReader(msgspec.Struct, frozen=True, gc=False):
    """A call that reads, under a key, what a node holds as the gradient of a parameter."""

    holder: int
    reader: int
    value: str
    parameter: str


def gradient_readers(
    connection: sqlite3.Connection, step: int, rank: int, threshold: float
) -> list[GradientReader]:
    """What reads, after the backward pass of a step and rank, gradients of weights that differ."""
    limit_time(connection)
    held: dict[tuple[float, ...], list[tuple[int, str]]] = defaultdict(list)
    for node, role, path, *numbers in connection.execute(_HELD, (step, rank, threshold)):
        if all(isinstance(number, float) and isfinite(number) for number in numbers):
            held[tuple(numbers)].append((node, f"{role}.{path}"))
    if not held:
        return []
    return [
        GradientReader(holder, node, f"{role}.{path}", parameter)
        for node, role, path, *numbers in connection.execute(_READ, (step, rank, threshold))
        for holder, parameter in held.get(tuple(numbers), ())
    ]
