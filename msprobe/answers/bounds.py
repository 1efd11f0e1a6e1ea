"""Cuts an answer to at most 4 KB of JSON: a page of its list, and long texts and lists in it.

What is cut is told: texts end with `…`, `left_out` counts the entries of nested lists, and `more`
is the offset at which to ask on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from msprobe.answers.shown_paths import ShownPaths

MOST_BYTES = 4096  # a few such answers leave room in the context of any language model
# Fields that are a path as a whole, whatever spaces they hold.
_PATHS = frozenset(("file", "problem", "benchmark", "result", "before", "after"))
_DIGITS = 9  # tell any two numbers of float32 apart


class _Level(NamedTuple):
    """How long texts may be, and how many entries nested lists and mappings may have."""

    text: int
    entries: int


# The first at which an entry fits is taken; the last fits whatever a file holds.
_LEVELS = (_Level(1000, 20), _Level(300, 8), _Level(120, 3), _Level(40, 1), _Level(12, 0))


def bounded(answer: msgspec.Struct, listed: str, offset: int, paths: ShownPaths) -> dict[str, Any]:
    """An answer as JSON may have it: its list from `offset` on, as far as there is room.

    `listed` names the field that is asked for in pages; the answer gets `total` and `more`.
    """
    every = getattr(answer, listed)
    # No more of a list than could have room is turned into JSON: a file may have a million.
    shown = msgspec.structs.replace(answer, **{listed: every[offset : offset + MOST_BYTES]})
    head: dict[str, Any] = msgspec.to_builtins(shown)
    entries = head.pop(listed)
    for level in _LEVELS:
        cut = _Cut(level, paths)
        page = {**cut.record(head), "total": len(every), listed: [], "more": 2**53}
        room = MOST_BYTES - len(msgspec.json.encode(page))
        page[listed] = _fitting(entries, cut, room)
        if page[listed] or (room >= 0 and not entries):
            break
    reached = offset + len(page[listed])
    page["more"] = reached if reached < len(every) else None
    return page


def _fitting(entries: Sequence[Any], cut: _Cut, room: int) -> list[Any]:
    """The first entries that have room, each with the comma behind it."""
    taken = []
    for entry in entries:
        shown = cut.value("", entry)
        room -= len(msgspec.json.encode(shown)) + 1
        if room < 0:
            break
        taken.append(shown)
    return taken


class _Cut:
    """Cuts what JSON may hold to a level."""

    def __init__(self, level: _Level, paths: ShownPaths) -> None:
        self._level, self._paths = level, paths

    def record(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """A record; what is left out of its lists is counted in it."""
        shown = {self._text(key): self.value(key, one) for key, one in found.items()}
        most = self._level.entries
        cut = {k: len(v) - most for k, v in found.items() if isinstance(v, list) and len(v) > most}
        return {**shown, "left_out": cut} if cut else shown

    def value(self, key: str, found: object) -> Any:  # noqa: ANN401 - JSON holds anything
        """Anything that JSON may hold."""
        if isinstance(found, dict):
            return self.record(found)
        if isinstance(found, list | tuple):
            return [self.value("", one) for one in found[: self._level.entries]]
        if isinstance(found, float):
            return _number(found)
        if isinstance(found, str):
            is_path = key in _PATHS
            return self._text(self._paths.path(found) if is_path else self._paths.text(found))
        return found

    def _text(self, text: str) -> str:
        most = self._level.text
        # Half of a character that came from no text cannot be sent.
        whole = text.encode("utf-8", "backslashreplace").decode()
        return whole if len(whole) <= most else whole[:most] + "…"


def _number(number: float) -> float | str:
    """A number as JSON can hold it; NaN and infinity are told as texts."""
    return float(f"{number:.{_DIGITS}g}") if math.isfinite(number) else str(number)
