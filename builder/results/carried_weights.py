"""Nodes of a step that read what the optimizer of the step before wrote, and that differs: weights.

It is the rule by which a trace goes on into the step before, for all nodes of a step at once.
"""

from __future__ import annotations

import sqlite3
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

import msgspec

from builder.results.equal_numbers import IS_OF_OPTIMIZER, key_of

_Numbers: TypeAlias = tuple[Any, ...]
# What runs after the last gradient of a step is its optimizer, and so is what stands below one:
# several may step between the gradients of one step. A CROSS JOIN keeps SQLite from going
# over all values first.
_WRITTEN = (
    "SELECT node.id, node.match, form.role, form.path, "
    "record.max, record.min, record.mean, record.norm "
    "FROM node CROSS JOIN record ON record.id BETWEEN node.first_value "
    "AND node.first_value + node.value_count - 1 CROSS JOIN form ON form.id = record.form "
    "WHERE node.graph = ? AND form.role IN ('output', 'parameters_grad') AND (node.exec_order > "
    "(SELECT MAX(exec_order) FROM node WHERE graph = ? AND direction = 'backward') "
    f"OR {IS_OF_OPTIMIZER})"
)
_READ = (
    "SELECT node.id, form.role, form.path, "
    "record.max, record.min, record.mean, record.norm, "
    "other.max, other.min, other.mean, other.norm "
    "FROM node CROSS JOIN record ON record.id BETWEEN node.first_value "
    "AND node.first_value + node.value_count - 1 CROSS JOIN form ON form.id = record.form "
    "LEFT JOIN record AS other ON other.id = record.partner "
    "WHERE node.graph = ? AND form.role NOT IN ('output', 'parameters_grad') "
    "AND record.score > ? ORDER BY record.score DESC, record.id"
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


class Carried(msgspec.Struct, frozen=True, gc=False):
    """A node that reads a value, and who wrote that in the step before, by the keys of both."""

    node: int
    value: str
    writer: int
    output: str


def carried_weights(
    connection: sqlite3.Connection, step: int, rank: int, threshold: float
) -> tuple[int | None, list[Carried]]:
    """The step before, and the nodes of the problem that read of it what differs, worst first.

    NaN looks the same everywhere: there the benchmark's value tells who wrote it.
    """
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
    for node, role, path, *numbers in connection.execute(_READ, (here[0], threshold)):
        own, other = tuple(numbers[:4]), tuple(numbers[4:])
        known, partner = written.get(own), partners.get(other)
        if known is None and partner is not None and partner.partner is not None:
            known = partner._replace(node=partner.partner)
        if known is not None and known.node in differ:
            found.append(Carried(node, key_of(role, path), known.node, known.key))
    return ours[1], found


class _Writer(NamedTuple):
    node: int
    partner: int | None
    key: str


def _written(connection: sqlite3.Connection, graph: int) -> dict[_Numbers, _Writer]:
    """By its numbers who wrote a value last."""
    rows = connection.execute(f"{_WRITTEN} ORDER BY node.exec_order", (graph, graph))
    return {
        tuple(numbers): _Writer(node, partner, key_of(role, path))
        for node, partner, role, path, *numbers in rows
        if all(isinstance(number, float) and isfinite(number) for number in numbers)
    }
