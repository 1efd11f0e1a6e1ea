"""Words of a node as small numbers, and cells as arrays: a side's nodes stand in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.results.records import Direction, Kind, Overflow, Verdict

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
NOTHING = -1

KINDS: tuple[Kind, ...] = ("root", "module", "api", "collection")
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")
VERDICTS: tuple[Verdict, ...] = ("pass", "warning", "error")
LEVELS: tuple[Overflow, ...] = ("medium", "high", "critical")
# The words of a node in one number, from the lowest digit: 0 is none, n the n-th word.
_BASE = 8
_WORDS = (("kind", KINDS), ("direction", DIRECTIONS), ("verdict", VERDICTS), ("overflow", LEVELS))


def packed(words: Mapping[str, str | None]) -> int:
    """The state of a node as one number; `words` by the names of its columns."""
    digits = [code_of(codes, words[name]) + 1 for name, codes in _WORDS]
    number = 0
    for digit in reversed(digits):
        number = number * _BASE + digit
    return number


def unpacked(state: Ints) -> dict[str, Ints]:
    """The words of packed states by column, as places in their lists; -1 means none."""
    return {name: state // _BASE**place % _BASE - 1 for place, (name, _) in enumerate(_WORDS)}


def _packing() -> str:
    digits = [
        f"{_BASE**place} * CASE {name} "
        + " ".join(f"WHEN '{word}' THEN {index}" for index, word in enumerate(codes, 1))
        + " ELSE 0 END"
        for place, (name, codes) in enumerate(_WORDS)
    ]
    return " + ".join(digits)


# The number of `packed`, in SQL.
PACKED_STATE = _packing()


def integers(cells: Sequence[object] | NDArray[Any]) -> Ints:
    """Cells as integers; -1 for what is none."""
    try:
        return np.asarray(cells, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        # A file made by hand may hold anything: what is no number is none.
        return np.array([c if type(c) is int and abs(c) < 2**62 else -1 for c in cells], np.int64)


def numbers(cells: Sequence[object] | NDArray[Any]) -> Floats:
    """Cells as numbers; NaN for what is none."""
    try:
        return np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([number_of(cell) for cell in cells], np.float64)


def code_of(codes: Sequence[str], name: str | None) -> int:
    """The place of a word in its list; -1 for none."""
    return codes.index(name) if name in codes else -1


def number_of(cell: object) -> float:
    """A cell as a number; NaN for what is none."""
    return float(cell) if isinstance(cell, int | float) else np.nan
