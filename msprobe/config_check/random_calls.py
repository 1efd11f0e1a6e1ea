"""Calls that draw random numbers or set a seed: where from and how often, on each rank."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msprobe.config_check.sheet import Sheet

HEADER = ("op", "rank", "bench_stack", "cmp_stack", "bench_count", "cmp_count", "check_result")
NO_MATCH = "no match stack"
_FRAME = re.compile(
    r"File (?P<file>.+?), line (?P<line>\d+), in (?P<function>[^,]+), ?(?P<code>.*)", re.DOTALL
)
Calls = Mapping[int, Mapping[str, list[dict[str, Any]]]]  # rank → function → places


def compare_random_calls(bench: Calls, other: Calls) -> Sheet:
    """A row for each place of a call, paired by its stack; other folders and lines are the same."""
    rows: list[tuple[object, ...]] = []
    for rank in sorted(bench.keys() | other.keys()):
        ours, theirs = _by_function(bench.get(rank, {})), _by_function(other.get(rank, {}))
        for op in sorted(ours.keys() | theirs.keys()):
            rows += _rows(op, rank, ours.get(op, []), theirs.get(op, []))
    return Sheet("random", HEADER, rows, "pass" if all(row[-1] for row in rows) else "error")


def _by_function(
    calls: Mapping[str, list[dict[str, Any]]],
) -> dict[str, list[dict[str, Any]]]:
    # Packs of mindstudio-probe call NumPy's module as scripts do.
    found: dict[str, list[dict[str, Any]]] = {}
    for name, places in calls.items():
        known = "numpy." + name.removeprefix("np.") if name.startswith("np.") else name
        found.setdefault(known, []).extend(places)
    return found


def _rows(
    op: str, rank: int, bench: list[dict[str, Any]], other: list[dict[str, Any]]
) -> Iterator[tuple[object, ...]]:
    left = list(other)
    for place in bench:
        match = _counterpart(place, left)
        if match is None:
            yield op, rank, _text(place), NO_MATCH, place["count"], 0, False
        else:
            left.remove(match)
            counts = place["count"], match["count"]
            yield op, rank, _text(place), _text(match), *counts, counts[0] == counts[1]
    for place in left:
        yield op, rank, NO_MATCH, _text(place), 0, place["count"], False


def _counterpart(place: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The same stack, or else the only one that is the same but for folders and line numbers."""
    exact = [other for other in others if other["stack"] == place["stack"]]
    moved = [other for other in others if _where(other) == _where(place)]
    if exact:
        return exact[0]
    return moved[0] if moved else None


def _where(place: dict[str, Any]) -> list[tuple[str, ...]]:
    frames = [(_FRAME.match(frame), frame) for frame in place["stack"]]
    return [
        (frame,) if m is None else (m["file"].rpartition("/")[2], m["function"], m["code"])
        for m, frame in frames
    ]


def _text(place: dict[str, Any]) -> str:
    return "\n".join(place["stack"])
