"""Searches the names of a pair: by text in one scan over all names at once, or by expression.

A million names are some 40 MB of text; NumPy finds every place of a text in it in milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from builder.errors import ExpressionError

if TYPE_CHECKING:
    import regex

LONGEST_SECONDS = 3.0
# No honest expression takes this long on one name; one that backtracks without end does.
_LONGEST_ON_ONE_NAME = 0.05
_WORD = 8
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]


class NameIndex:
    """The names of the nodes of one pair; both sides share most of them, so each is kept once."""

    def __init__(self, names: Sequence[str]) -> None:
        places: dict[str, int] = {}
        self._place = np.array([places.setdefault(n, len(places)) for n in names], np.int64)
        self._names = list(places)
        self._joined = "\n".join(self._names)
        if self._joined.count("\n") >= max(1, len(self._names)):
            self._names = [name.replace("\n", " ") for name in places]
            self._joined = "\n".join(self._names)

    @cached_property
    def rank(self) -> Indices:
        """For each node the place of its name in alphabetical order."""
        order = sorted(range(len(self._names)), key=self._names.__getitem__)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return np.asarray(rank[self._place])

    @cached_property
    def _exact(self) -> _Text:
        return _Text(self._joined, len(self._names))

    @cached_property
    def _lower(self) -> _Text:
        return _Text(self._joined.lower(), len(self._names))

    @cached_property
    def _starts(self) -> Indices:
        lengths = np.array([len(name) + 1 for name in self._names], dtype=np.int64)
        return np.cumsum(lengths) - lengths

    @cached_property
    def _parts(self) -> list[str]:
        """What stands between the dots of all names, without numbers."""
        parts = set(self._joined.lower().replace("\n", ".").split("."))
        return sorted(part for part in parts if not part.isdigit())

    def nearest(self, word: str) -> list[str]:
        """Up to three parts of names that are written much like a word, the nearest first."""
        return get_close_matches(word.lower(), self._parts, n=3)

    def prepare(self) -> None:
        """Lay out now what the first search by text needs, and one that finds nothing."""
        _ = self._lower, self._parts

    def containing(self, text: str, *, case: bool) -> Bools:
        """For each node whether its name contains a text."""
        hit = self._exact.containing(text) if case else self._lower.containing(text.lower())
        return np.asarray(hit[self._place])

    def matching(self, pattern: str, *, case: bool) -> Bools:
        """For each node whether its name matches a regular expression somewhere.

        Raises ExpressionError when it is none, or takes longer than LONGEST_SECONDS.
        """
        import regex

        flags = regex.MULTILINE | (0 if case else regex.IGNORECASE)
        try:
            expression = regex.compile(pattern, flags)
        except regex.error as error:
            raise ExpressionError(
                f"{pattern[:100]!r} is no regular expression ({error})",
                "escape special characters with \\, or search for plain text",
                {"code": "no_expression", "pattern": pattern[:100], "error": str(error)},
            ) from None
        try:
            hit = self._matching_at_once(expression)
            hit = self._matching_each(expression) if hit is None else hit
        except TimeoutError:
            raise ExpressionError(
                f"{pattern[:100]!r} takes too long",
                "simplify it, or search for plain text",
                {"code": "too_slow", "pattern": pattern[:100]},
            ) from None
        return np.asarray(hit[self._place])

    def _matching_at_once(self, expression: regex.Pattern[str]) -> Bools | None:
        """For each name whether it matches; None where a match would run over several names."""
        if expression.search("") is not None:
            return None
        matches = expression.finditer(self._joined, timeout=LONGEST_SECONDS, concurrent=True)
        spans = np.array([match.span() for match in matches], dtype=np.int64).reshape(-1, 2)
        first, last = (
            np.searchsorted(self._starts, spans[:, edge], side="right") - 1 for edge in (0, 1)
        )
        if (first != last).any():
            return None
        hit = np.zeros(len(self._names), dtype=bool)
        hit[first] = True
        return hit

    def _matching_each(self, expression: regex.Pattern[str]) -> Bools:
        deadline = time.monotonic() + LONGEST_SECONDS
        hit = np.zeros(len(self._names), dtype=bool)
        search: Any = expression.search
        for index, name in enumerate(self._names):
            if search(name, timeout=_LONGEST_ON_ONE_NAME) is not None:
                hit[index] = True
            if index % 1024 == 0 and time.monotonic() > deadline:
                raise TimeoutError
        return hit


class _Text:
    """Names, one a line, in one piece of UTF-8, with the place where each begins."""

    def __init__(self, lines: str, count: int) -> None:
        text = lines.encode("utf-8", "replace") + b"\n" if count else b""
        raw = text + bytes(_WORD)
        self.bytes = np.frombuffer(raw, dtype=np.uint8)[: len(text)]
        self.starts = np.append(0, np.flatnonzero(self.bytes == ord("\n")) + 1)[:-1]
        # Every place of the text as eight bytes at once: one look instead of eight.
        self.words = np.ndarray(len(self.bytes), dtype="<u8", buffer=raw, strides=(1,))
        self.frequency = np.bincount(self.bytes, minlength=256)

    def containing(self, text: str) -> Bools:
        """For each name whether it contains a text."""
        wanted = text.encode("utf-8", "replace")
        hit = np.full(len(self.starts), not wanted)
        if not wanted or len(wanted) > len(self.bytes) or b"\n" in wanted:
            return hit
        if len(wanted) == 1:
            return np.logical_or.reduceat(self.bytes == wanted[0], self.starts)
        # The rarest byte leaves the fewest places to look at again.
        rarest = min(range(len(wanted)), key=lambda offset: self.frequency[wanted[offset]])
        last = len(self.bytes) - len(wanted) + 1
        places = np.flatnonzero(self.bytes[rarest : rarest + last] == wanted[rarest])
        for offset in range(0, len(wanted), _WORD):
            part = wanted[offset : offset + _WORD]
            mask = np.uint64(2 ** (8 * len(part)) - 1)
            word = np.uint64(int.from_bytes(part, "little"))
            places = places[(self.words[places + offset] & mask) == word]
        hit[np.searchsorted(self.starts, places, side="right") - 1] = True
        return hit
