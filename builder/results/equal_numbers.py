"""Who reads what others hold, put out or wrote the step before, told by equal numbers.

A module holds its weight, the calls inside it read it, and calls elsewhere may share it; the
optimizer reads what a node holds as the gradient of a parameter, and writes what the next step
reads. Two values are the same where all four of their statistics are equal and finite.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import Any, Literal, NamedTuple

import msgspec

_NUMBERS = "{0}.max, {0}.min, {0}.mean, {0}.norm"
# A CROSS JOIN keeps SQLite from going over all values first, and over all nodes for each of them.
_VALUES = (
    "SELECT node.id, node.match, form.role, form.path, {columns} "
    "FROM graph CROSS JOIN node ON node.graph = graph.id CROSS JOIN record ON record.id "
    "BETWEEN node.first_value AND node.first_value + node.value_count - 1 "
    "CROSS JOIN form ON form.id = record.form {joins} WHERE {where}"
)
_OWN = _VALUES.format(columns=_NUMBERS.format("record"), joins="", where="{where}")
_WITH_PARTNER = _VALUES.format(
    columns=f"{_NUMBERS.format('record')}, {_NUMBERS.format('other')}",
    joins="LEFT JOIN record AS other ON other.id = record.partner",
    where="{where} ORDER BY record.score DESC, record.id",
)
_DIFFERS = "record.score > ? AND "
_IS_READ = "form.role NOT IN ('output', 'parameters_grad')"
# What runs after the last gradient of a step is its optimizer, and so is what stands below one:
# several may step between the gradients of one step. Asked first, it is not asked for each value.
_LAST_GRADIENT = "SELECT MAX(exec_order) FROM node WHERE graph = ? AND direction = 'backward'"
_IS_UPDATE = (
    "(node.exec_order > ? OR EXISTS "
    "(SELECT 1 FROM node AS top WHERE top.id = node.parent AND top.name = 'optimizer'))"
)
WEIGHTS = _OWN.format(where=f"{_DIFFERS} node.id = ? AND form.role = 'parameters'")
FED = _OWN.format(where=f"{_DIFFERS} node.id = ? AND form.role = 'input'")
READ_BESIDE = _OWN.format(
    where=f"{_DIFFERS} node.graph = (SELECT graph FROM node WHERE id = ?) AND {_IS_READ}"
)
GRADIENTS = _OWN.format(where=f"{_DIFFERS} graph.id = ? AND form.role = 'parameters_grad'")
READ_BY_UPDATES = _OWN.format(where=f"{_DIFFERS} graph.id = ? AND {_IS_READ} AND {_IS_UPDATE}")
WRITTEN = _OWN.format(
    where="graph.id = ? AND form.role IN ('output', 'parameters_grad') "
    f"AND {_IS_UPDATE} ORDER BY node.exec_order"
)
READ = _WITH_PARTNER.format(where=f"{_DIFFERS} graph.id = ? AND {_IS_READ}")
_DIFFER = (
    "SELECT id FROM node WHERE graph = ? AND (score > ? OR input_score > ? OR source IS NOT NULL)"
)
_BEFORE = (
    "SELECT before.id, before.step FROM graph AS before JOIN graph AS here "
    "ON here.step = ? AND here.rank = ? AND here.side = before.side "
    "WHERE before.side = ? AND before.rank = here.rank AND before.step < here.step "
    "ORDER BY before.step DESC LIMIT 1"
)
# The gradients that modules hold and that differ, by module and parameter.
_HELD = (
    "SELECT node.id, node.name, form.path FROM graph CROSS JOIN node ON node.graph = graph.id "
    "CROSS JOIN record ON record.id "
    "BETWEEN node.first_value AND node.first_value + node.value_count - 1 "
    "CROSS JOIN form ON form.id = record.form "
    "WHERE graph.id = ? AND form.role = 'parameters_grad' AND record.score > ?"
)
_UPDATES = (
    "SELECT 1 FROM node WHERE graph = ? AND kind = 'api' AND direction = 'forward' "
    f"AND {_IS_UPDATE} LIMIT 1"
)
_NAMES = "SELECT id, name FROM node WHERE graph = ?"
_GRAPH = "SELECT id FROM graph WHERE step = ? AND rank = ? AND side = 'problem'"


class ValueReader(msgspec.Struct, frozen=True, gc=False):
    """A node that reads, under the key `value`, what another one holds as a `parameter`.

    Of what a module is fed, `parameter` is the key of its input.
    """

    holder: int
    reader: int
    value: str
    parameter: str


class Carried(msgspec.Struct, frozen=True, gc=False):
    """A node that reads a value, and who wrote that in the step before, by the keys of both.

    A writer of the benchmark's is one that the problem's run lacks: it kept what it had. By the
    link `gradient` nothing recorded wrote it, and the writer holds the gradient that it followed.
    """

    node: int
    value: str
    writer: int
    output: str
    link: Literal["before", "gradient"] = "before"


class _Value(NamedTuple):
    """A value of a node under its key; `numbers` are those of its partner where these are asked.

    None where they are not all finite numbers, which look the same everywhere.
    """

    node: int
    partner: int | None
    key: str
    numbers: tuple[float, ...] | None
    theirs: tuple[float, ...] | None


def key_of(role: str, path: str) -> str:
    """The key under which a node has a value."""
    return f"{role}.{path}" if path else role


def weight_readers(
    connection: sqlite3.Connection, modules: Sequence[int], threshold: float
) -> list[ValueReader]:
    """What reads weights that differ of some modules of one step and rank, they left out."""
    return _readers_beside(connection, WEIGHTS, modules, threshold)


def fed_readers(
    connection: sqlite3.Connection, modules: Sequence[int], threshold: float
) -> list[ValueReader]:
    """What reads inputs that differ of some modules of one step and rank, they left out."""
    return _readers_beside(connection, FED, modules, threshold)


def gradient_readers(
    connection: sqlite3.Connection, step: int, rank: int, threshold: float
) -> list[ValueReader]:
    """What reads gradients of weights that differ in an optimizer of a step and rank, or after all
    of its gradients.
    """
    here = connection.execute(_GRAPH, (step, rank)).fetchone()
    held = [] if here is None else list(_values(connection, GRADIENTS, threshold, *here))
    if not held:
        return []
    last = connection.execute(_LAST_GRADIENT, here).fetchone()
    return _readers(held, _values(connection, READ_BY_UPDATES, threshold, *here, *last))


def _readers_beside(
    connection: sqlite3.Connection, query: str, modules: Sequence[int], threshold: float
) -> list[ValueReader]:
    if not modules:
        return []
    held = [value for one in modules for value in _values(connection, query, threshold, one)]
    read = _values(connection, READ_BESIDE, threshold, modules[0])
    named = set(modules)
    return [one for one in _readers(held, read) if one.reader not in named]


def _readers(held: Iterable[_Value], read: Iterable[_Value]) -> list[ValueReader]:
    holders: dict[tuple[float, ...], list[_Value]] = defaultdict(list)
    for value in held:
        if value.numbers is not None:
            holders[value.numbers].append(value)
    return [
        ValueReader(holder.node, value.node, value.key, holder.key)
        for value in (read if holders else ())
        if value.numbers is not None
        for holder in holders.get(value.numbers, ())
    ]


def carried_weights(
    connection: sqlite3.Connection, step: int, rank: int, threshold: float
) -> tuple[int | None, list[Carried]]:
    """The step before, and the nodes of the problem that read of it what differs, worst first.

    NaN looks the same everywhere: there the benchmark's value tells who wrote it, and so it does
    of a weight that only the benchmark's optimizer writes.
    """
    here = connection.execute(_GRAPH, (step, rank)).fetchone()
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
    for value in _values(connection, READ, threshold, here[0]):
        wrote, other = written.get(value.numbers), partners.get(value.theirs)
        if wrote is None and other is not None and other.partner is not None:
            wrote = other._replace(node=other.partner)
        if wrote is not None and wrote.node not in differ:
            continue
        if wrote is None and other is not None:
            wrote = other
        if wrote is not None:
            found.append(Carried(value.node, value.key, wrote.node, wrote.key))
    return ours[1], found or _followed_gradients(connection, here[0], ours[0], threshold)


def _followed_gradients(
    connection: sqlite3.Connection, here: int, before: int, threshold: float
) -> list[Carried]:
    """The weights that differ after a step whose gradient of them did, and no update is recorded.

    In a dump of modules alone nothing else tells how a difference came from step to step.
    """
    last = connection.execute(_LAST_GRADIENT, (before,)).fetchone()
    if connection.execute(_UPDATES, (before, *last)).fetchone() is not None:
        return []
    held = {
        (name.rpartition(".parameters_grad")[0], key_of("parameters", path)): (node, path)
        for node, name, path in connection.execute(_HELD, (before, threshold))
    }
    names = dict(connection.execute(_NAMES, (here,))) if held else {}
    found = []
    for value in _values(connection, READ, threshold, here) if held else ():
        name = names[value.node]
        node, path = held.get((name.rpartition(".forward")[0], value.key), (None, ""))
        if node is not None:
            key = key_of("parameters_grad", path)
            found.append(Carried(value.node, value.key, node, key, "gradient"))
    return found


def _written(connection: sqlite3.Connection, graph: int) -> dict[tuple[float, ...] | None, _Value]:
    """By its numbers who wrote a value last."""
    last = connection.execute(_LAST_GRADIENT, (graph,)).fetchone()
    values = _values(connection, WRITTEN, graph, *last)
    return {one.numbers: one for one in values if one.numbers is not None}


def _values(connection: sqlite3.Connection, query: str, *given: object) -> Iterator[_Value]:
    for node, partner, role, path, *numbers in connection.execute(query, given):
        other = _finite(numbers[4:]) if len(numbers) > 4 else None
        yield _Value(node, partner, key_of(role, path), _finite(numbers[:4]), other)


def _finite(numbers: Sequence[Any]) -> tuple[float, ...] | None:
    for one in numbers:
        if not isinstance(one, float) or not isfinite(one):
            return None
    return tuple(numbers)
