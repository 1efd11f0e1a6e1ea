"""What fed what in msprobe's own files: told by equal values, for they do not say it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

from builder.results.msprobe.graph import MsprobePair, Passed
from builder.results.records import Side

Cells = Mapping[str, Mapping[str, Any]]
_STATISTICS = ("Max", "Min", "Mean", "Norm")
_ABSENT = (None, "", "null", "None", "N/A")
# Constants are shared by values that have nothing to do with each other.
_CONSTANTS = (0.0, 1.0)


def fingerprint(cell: Mapping[str, Any]) -> tuple[str, ...] | None:
    """What a tensor shares with its copies and views: its checksum, else its statistics.

    None for what is no tensor, and where they say too little.
    """
    if "ensor" not in str(cell.get("type", "")):
        return None
    checksum = cell.get("md5")
    if checksum not in _ABSENT:
        return (str(checksum),)
    highest, lowest, mean, norm = (str(cell.get(key)) for key in _STATISTICS)
    if cell.get("Max") in _ABSENT or highest.lower() == "nan" or _constant(highest, lowest):
        return None
    # Of integers there are extremes alone, which labels share with masks.
    weak = cell.get("Mean") in _ABSENT and cell.get("Norm") in _ABSENT
    return (highest, lowest, str(cell.get("dtype"))) if weak else (highest, lowest, mean, norm)


def _constant(highest: str, lowest: str) -> bool:
    try:
        return float(highest) == float(lowest) and float(highest) in _CONSTANTS
    except ValueError:
        return False


def passed_in(
    pair: MsprobePair, side: Side, inputs: Mapping[int, Cells], outputs: Mapping[int, Cells]
) -> list[Passed]:
    """Each value that was read, and the latest node that put it out before its reader began.

    Cells are by node id. A module does not hide the call inside it that made its output.
    """
    nodes = [node for node in pair.nodes.values() if node.side == side]
    began = _begins(pair, side)
    # What ended is known to whoever began after it: both in one order of time.
    makers: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for node in sorted(nodes, key=lambda one: one.order):
        for put_out in _prints(outputs.get(node.id, {})):
            made = makers.setdefault(put_out, [])
            if not made or made[-1][0] < began[node.id]:
                made.append((node.order, node.id))
    return [
        Passed(maker, node.id, key)
        for node in nodes
        for key, cell in inputs.get(node.id, {}).items()
        if (read := fingerprint(cell)) is not None
        and (maker := _latest(makers.get(read, []), began[node.id])) is not None
    ]


def _begins(pair: MsprobePair, side: Side) -> dict[int, int]:
    """The order of the first node inside each node, which ends after all of them."""
    began: dict[int, int] = {}
    ids = [id_ for id_, node in pair.nodes.items() if node.side == side]
    for id_ in reversed(ids):
        inside = [began[child] for child in pair.children.get(id_, [])]
        began[id_] = min([pair.nodes[id_].order, *inside])
    return began


def _prints(cells: Cells) -> Iterator[tuple[str, ...]]:
    for cell in cells.values():
        print_ = fingerprint(cell)
        if print_ is not None:
            yield print_


def _latest(made: list[tuple[int, int]], before: int) -> int | None:
    """The last of those in order of time that ended before a moment."""
    place = bisect_left(made, (before,))
    return made[place - 1][1] if place else None
