"""Who reads what others hold, told by equal numbers: weights that differ, and their gradients.

A module holds its weight, the calls inside it read it, and calls elsewhere may share it; the
optimizer reads what a node holds as the gradient of a parameter.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

import msgspec

# A CROSS JOIN keeps SQLite from going over all values first, and over all nodes for each of them.
_VALUES = (
    "SELECT node.id, form.role, form.path, record.max, record.min, record.mean, record.norm "
    "FROM graph CROSS JOIN node ON node.graph = graph.id CROSS JOIN record ON record.id "
    "BETWEEN node.first_value AND node.first_value + node.value_count - 1 "
    "CROSS JOIN form ON form.id = record.form WHERE record.score > ? AND "
)
_IS_READ = "form.role NOT IN ('output', 'parameters_grad')"
_WEIGHTS = f"{_VALUES} node.id = ? AND form.role = 'parameters'"
_FED = f"{_VALUES} node.id = ? AND form.role = 'input'"
_OF_WEIGHTS = f"{_VALUES} node.graph = (SELECT graph FROM node WHERE id = ?) AND {_IS_READ}"
# Of a node: it stands right below an optimizer.
IS_OF_OPTIMIZER = (
    "EXISTS (SELECT 1 FROM node AS top WHERE top.id = node.parent AND top.name = 'optimizer')"
)
_HERE = "graph.step = ? AND graph.rank = ? AND graph.side = 'problem'"
_GRADIENTS = f"{_VALUES} {_HERE} AND form.role = 'parameters_grad'"
_OF_GRADIENTS = (
    f"{_VALUES} {_HERE} AND {_IS_READ} AND (node.exec_order > "
    "(SELECT MAX(exec_order) FROM node AS last WHERE last.graph = node.graph "
    f"AND last.direction = 'backward') OR {IS_OF_OPTIMIZER})"
)
_Rows = Iterable[Sequence[Any]]


class ValueReader(msgspec.Struct, frozen=True, gc=False):
    """A node that reads, under the key `value`, what another one holds as a `parameter`.

    Of what a module is fed, `parameter` is the key of its input.
    """

    holder: int
    reader: int
    value: str
    parameter: str


def key_of(role: str, path: str) -> str:
    """The key under which a node has a value."""
    return f"{role}.{path}" if path else role


def weight_readers(
    connection: sqlite3.Connection, modules: Sequence[int], threshold: float
) -> list[ValueReader]:
    """What reads weights that differ of some modules of one step and rank, they left out."""
    return _readers_of(connection, _WEIGHTS, modules, threshold)


def fed_readers(
    connection: sqlite3.Connection, modules: Sequence[int], threshold: float
) -> list[ValueReader]:
    """What reads inputs that differ of some modules of one step and rank, they left out."""
    return _readers_of(connection, _FED, modules, threshold)


def _readers_of(
    connection: sqlite3.Connection, query: str, modules: Sequence[int], threshold: float
) -> list[ValueReader]:
    held = [row for one in modules for row in connection.execute(query, (threshold, one))]
    read = connection.execute(_OF_WEIGHTS, (threshold, modules[0]))
    named = set(modules)
    return [one for one in _readers(held, read) if one.reader not in named]


def gradient_readers(
    connection: sqlite3.Connection, step: int, rank: int, threshold: float
) -> list[ValueReader]:
    """What reads gradients of weights that differ in an optimizer of a step and rank, or after all
    of its gradients.
    """
    here = threshold, step, rank
    held = connection.execute(_GRADIENTS, here).fetchall()
    return _readers(held, connection.execute(_OF_GRADIENTS, here) if held else ())


def _readers(held: _Rows, read: _Rows) -> list[ValueReader]:
    holders: dict[tuple[float, ...], list[tuple[int, str]]] = defaultdict(list)
    for node, role, path, *numbers in held:
        if all(isinstance(number, float) and isfinite(number) for number in numbers):
            holders[tuple(numbers)].append((node, key_of(role, path)))
    if not holders:
        return []
    return [
        ValueReader(holder, node, key_of(role, path), parameter)
        for node, role, path, *numbers in read
        for holder, parameter in holders.get(tuple(numbers), ())
    ]
