"""How far two runs that agree are apart: their largest error, and formats that they do not share.

Read when nothing diverges, where a score of 0.00 tells nothing more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Literal

import msgspec

from builder.reasons import PrecisionSetting, Reason
from builder.results.records import Count
from msprobe_core.format import canonical_dtype, machine_epsilon, roundings

_LARGEST = """
    SELECT record.id, record.error, record.let_pass, form.dtype,
           form.role || CASE form.path WHEN '' THEN '' ELSE '.' || form.path END AS value
    FROM record JOIN form ON form.id = record.form
    WHERE typeof(record.error) = 'real'
    ORDER BY record.error DESC, form.role = 'output' DESC, record.id LIMIT 1
"""
_HOLDER = """
    SELECT node.id, node.name, graph.step, graph.rank
    FROM node JOIN graph ON graph.id = node.graph
    WHERE ? BETWEEN node.first_value AND node.first_value + node.value_count - 1
"""
# Calls by the formats of what they put out on either side; a call may put out several. A CROSS JOIN
# keeps SQLite from going over all values first, and over all nodes for each of them.
_FORMATS = """
    SELECT DISTINCT node.id, form.dtype, other.dtype
    FROM graph CROSS JOIN node ON graph.id = node.graph AND graph.side = 'problem'
    CROSS JOIN record
        ON record.id BETWEEN node.first_value AND node.first_value + node.value_count - 1
    CROSS JOIN form ON form.id = record.form
    CROSS JOIN record AS theirs ON theirs.id = record.partner
    CROSS JOIN form AS other ON other.id = theirs.form
    WHERE node.kind = 'api' AND form.role = 'output'
"""


class Formats(msgspec.Struct, frozen=True):
    """Two formats in one pair: the `coarser` run puts out `coarse` in `calls` of `total` calls.

    The other run puts out `fine` there. Counted are calls with partners that put out floats.
    """

    coarser: Literal["problem", "benchmark"]
    coarse: str
    fine: str
    calls: Count
    total: Count


class LargestError(msgspec.Struct, frozen=True):
    """The largest relative error of any value and the node that has it.

    `let_pass` says what explains it where it is above the tolerance and still scores 0, `times` how
    many times one rounding to the value's `format` it is, where one is known.
    """

    error: float
    value: str
    step: int
    rank: int
    node: int
    name: str
    let_pass: str | None
    times: str | None = None
    format: str | None = None


class Extent(msgspec.Struct, frozen=True):
    """How far runs that agree are apart; None where nothing was measured, or formats are alike."""

    largest: LargestError | None
    formats: Formats | None


def extent_of(connection: sqlite3.Connection, summary: Sequence[Reason]) -> Extent:
    """Read how far the runs of an open file are apart; `summary` is what its build said.

    A file whose values lie in volumes has none of its own, and so no largest error.
    """
    two_formats = any(isinstance(reason, PrecisionSetting) for reason in summary)
    try:
        return Extent(_largest(connection), _formats(connection) if two_formats else None)
    except sqlite3.OperationalError:
        return Extent(None, None)  # it took longer than queries may


def _largest(connection: sqlite3.Connection) -> LargestError | None:
    found = connection.execute(_LARGEST).fetchone()
    if found is None:
        return None
    record, error, let_pass, dtype, value = tuple(found)
    holder = connection.execute(_HOLDER, (record,)).fetchone()
    if holder is None:
        return None
    node, name, step, rank = tuple(holder)
    rounded = roundings(error, dtype or "")
    return LargestError(error, value, step, rank, node, name, let_pass, *rounded)


def _formats(connection: sqlite3.Connection) -> Formats | None:
    lower: dict[tuple[Literal["problem", "benchmark"], str, str], set[int]] = {}
    every = set()
    for node, *dtypes in map(tuple, connection.execute(_FORMATS)):
        ours, theirs = (canonical_dtype(dtype or "") for dtype in dtypes)
        one, other = machine_epsilon(ours), machine_epsilon(theirs)
        if one is None or other is None:
            continue
        every.add(node)
        if one > other:
            lower.setdefault(("problem", ours, theirs), set()).add(node)
        elif other > one:
            lower.setdefault(("benchmark", theirs, ours), set()).add(node)
    if not lower:
        return None
    kind, calls = max(lower.items(), key=lambda item: len(item[1]))
    return Formats(*kind, len(calls), len(every))


def formats_told(extent: Extent) -> str | None:
    """What is added to "both runs agree" where they compute in two formats."""
    formats = extent.formats
    if formats is None:
        return None
    other = "benchmark" if formats.coarser == "problem" else "problem"
    return (
        f"though of {formats.total} matched calls that put out floats the {formats.coarser} run "
        f"computes {formats.calls} in {formats.coarse}, the {other} run in {formats.fine}; "
        "the tolerance is that of the coarser"
    )
