"""Whether position numbers lie on the context-parallel ranks in the order that the run says.

Joined, positions in any order have the same statistics; but a rank's part of 0, 1, 2 … has the
least and the largest number that its place in the order gives it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from builder.dump.values import Record
from builder.ranks.joining.joined_statistics import MAX, MIN
from builder.ranks.joining.parts import Floats
from builder.ranks.joining.roles import Reading

_OTHER = {"contiguous": "zigzag", "zigzag": "contiguous"}
Ends = list[tuple[int, int]]


def misplaced(reading: Reading, parts: Floats, order: str | None) -> tuple[int, ...]:
    """The places along cp whose positions are those of another order than the run says.

    `parts` [4, parts] are the statistics of one value of the problem. None where the parts are
    not exactly those that the other order makes: it may be no positions at all.
    """
    axes = reading.problem.axes
    at = next((n for n, a in enumerate(axes) if a.axis == "cp" and a.kind == "S"), None)
    if at is None or order not in _OTHER:
        return ()
    size, extent = axes[at].size, reading.problem.shape[axes[at].dim]
    if extent % (2 * size):
        return ()
    inner = int(np.prod([axis.size for axis in axes[:at]], dtype=int))
    found = _found(parts.reshape(4, -1, size, inner))
    wanted = _ends(order, size, extent)
    if found != _ends(_OTHER[order], size, extent):
        return ()
    return tuple(place for place in range(size) if found[place] != wanted[place])


def order_of_positions(records: Sequence[Record]) -> str | None:
    """The order in which some ranks' positions lie, in the order of ranks; None where in neither.

    Each rank has every position of its part once a row at least, from 0 on over all ranks.
    """
    extents = {record.shape[-1] for record in records if record.shape}
    cells = [(record.Min, record.Max) for record in records]
    if len(extents) != 1 or len(records) < 2 or any(type(c) is not int for p in cells for c in p):
        return None
    extent = extents.pop() * len(records)
    if extent % (2 * len(records)):
        return None
    fits = (order for order in _OTHER if cells == _ends(order, len(records), extent))
    return next(fits, None)


def _found(grid: Floats) -> Ends | None:
    """The ends [places] of the parts; None where those at one place differ."""
    ends = []
    for place in range(grid.shape[2]):
        pairs = set(zip(grid[MIN, :, place].flat, grid[MAX, :, place].flat, strict=True))
        if len(pairs) > 1:
            return None
        ends.append(pairs.pop())
    return ends


def _ends(order: str, size: int, extent: int) -> Ends:
    """The least and the largest position of each part."""
    if order == "zigzag":
        half = extent // (2 * size)
        return [(place * half, extent - 1 - place * half) for place in range(size)]
    share = extent // size
    return [(place * share, (place + 1) * share - 1) for place in range(size)]
