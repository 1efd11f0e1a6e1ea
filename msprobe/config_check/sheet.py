"""One checked item as a table, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["pass", "warning", "error"]
LEVELS: tuple[Level, ...] = ("pass", "warning", "error")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of `result.xlsx`: header and rows in order; `level` is its line in the summary."""

    name: str
    header: tuple[str, ...]
    rows: list[tuple[object, ...]]
    level: Level

    @staticmethod
    def worst(levels: Iterable[str]) -> Level:
        """The worst of some levels, `pass` of none."""
        return LEVELS[max((LEVELS.index(level) for level in levels if level in LEVELS), default=0)]
