"""Which nodes hand on a difference that their own format rounds away, and a finer one shows.

Under autocast a gradient of float32 is made of such in bfloat16: these agree to their last bits, it
does not. What a value in a half format is off by is compared with what diverges in float32.
"""

from __future__ import annotations

import sqlite3

import numpy as np

from builder.compare.score import Tolerance
from msprobe_core.format import is_half_format, machine_epsilon

_FORMATS = "SELECT id, dtype FROM form WHERE dtype IS NOT NULL"
# A CROSS JOIN keeps SQLite from going over all values first.
_COARSE = (
    "SELECT DISTINCT node.id FROM graph CROSS JOIN node ON node.graph = graph.id "
    "CROSS JOIN record ON record.id "
    "BETWEEN node.first_value AND node.first_value + node.value_count - 1 "
    "WHERE graph.step = ? AND graph.rank = ? AND graph.side = 'problem' "
    "AND record.error > ? AND record.form IN ({forms})"
)


def coarse_holders(
    connection: sqlite3.Connection, step: int, rank: int, threshold: float
) -> list[int]:
    """The ids of nodes with a value in a half format that is off by what diverges in float32.

    None where all values of the file are in half formats, or none is: nothing finer shows it. An
    error e diverges where it is above tol^(1 - threshold) (`builder.compare.score`); tol is that of
    the first block, so a row may carry a little too much, and never too little.
    """
    formats = list(connection.execute(_FORMATS))
    halves = [form for form, dtype in formats if is_half_format(dtype)]
    if not halves or not any(_is_finer(dtype) for _, dtype in formats):
        return []
    tolerance = Tolerance().of(np.zeros(1), np.array([machine_epsilon("float32")]))
    limit = float(tolerance[0] ** (1.0 - threshold))
    query = _COARSE.format(forms=", ".join(map(str, halves)))
    return [node for (node,) in connection.execute(query, (step, rank, limit))]


def _is_finer(dtype: str) -> bool:
    return machine_epsilon(dtype) is not None and not is_half_format(dtype)
