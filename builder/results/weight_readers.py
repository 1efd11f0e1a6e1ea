"""Which nodes read a weight that differs of a module that the diagnosis names for it.

A module holds its weight, the calls inside it read it, and calls elsewhere may share it: they are
told by equal numbers.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from math import isfinite

import msgspec

from builder.results.opening import limit_time

_VALUES = (
    "SELECT node.id, form.role, form.path, record.max, record.min, record.mean, record.norm "
    "FROM node JOIN record ON record.id BETWEEN node.first_value "
    "AND node.first_value + node.value_count - 1 JOIN form ON form.id = record.form "
)
_HELD = f"{_VALUES} WHERE node.id = ? AND form.role = 'parameters' AND record.score > ?"
_READ = (
    f"{_VALUES} WHERE node.graph = (SELECT graph FROM node WHERE id = ?) "
    "AND form.role NOT IN ('output', 'parameters_grad') AND record.score > ?"
)


class WeightReader(msgspec.Struct, frozen=True, gc=False):
    """A node that reads, under a key, what a module holds under one of its parameters."""

    module: int
    reader: int
    value: str
    parameter: str


def weight_readers(
    connection: sqlite3.Connection, modules: Sequence[int], threshold: float
) -> list[WeightReader]:
    """What reads weights that differ of some modules of one step and rank, they left out."""
    limit_time(connection)
    held: dict[tuple[float, ...], list[tuple[int, str]]] = defaultdict(list)
    for module in modules:
        for own, role, path, *numbers in connection.execute(_HELD, (module, threshold)):
            if all(isinstance(number, float) and isfinite(number) for number in numbers):
                held[tuple(numbers)].append((own, f"{role}.{path}"))
    if not held:
        return []
    named = set(modules)
    return [
        WeightReader(module, node, f"{role}.{path}", parameter)
        for node, role, path, *numbers in connection.execute(_READ, (modules[0], threshold))
        if node not in named
        for module, parameter in held.get(tuple(numbers), ())
    ]
