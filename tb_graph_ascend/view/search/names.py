"""Searches the names of a pair: by text in one scan over all names at once, or by expression.

A million names are some 40 MB of text, in which NumPy finds every place of a text in milliseconds.
Where case does not matter they are looked for in the shapes of names first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property

import numpy as np

from tb_graph_ascend.view.search.expressions import LineExpression
from tb_graph_ascend.view.search.shapes import Bools, Indices, NameShapes

_WORD = 8
# Names that are changed in one piece; a larger one would hold other threads up.
_CHUNK = 16_384
# One byte in so many tells how frequent each is.
_SAMPLED = 61


class NameIndex:
    """The names of the nodes of one pair; its sides share most of them, so each is kept once.

    `place` holds for each node the place of its name among them, one side after the other.
    """

    def __init__(self, *sides: Sequence[str]) -> None:
        places: dict[str, int] = {}
        parts: list[Indices] = []
        for names in sides:
            if parts and names == sides[0]:
                parts.append(parts[0])  # most runs of one model differ in no name
                continue
            numbers = (places.setdefault(name, len(places)) for name in names)
            parts.append(np.fromiter(numbers, np.int64, len(names)))
        self.place = np.concatenate(parts)
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
        return np.asarray(rank[self.place])

    @cached_property
    def _exact(self) -> _Text:
        return _Text(self._joined.encode("utf-8", "replace"), len(self._names))

    @cached_property
    def _lower(self) -> _Text:
        pieces = (piece.lower().encode("utf-8", "replace") for piece in self._pieces())
        return _Text(b"\n".join(pieces), len(self._names))

    def names_once(self) -> list[str]:
        """The names, each once, as `place` counts them."""
        return self._names

    def _pieces(self) -> Iterator[str]:
        """The names in order, one a line, some thousands at a time."""
        for start in range(0, len(self._names), _CHUNK):
            yield "\n".join(self._names[start : start + _CHUNK])

    @cached_property
    def _shapes(self) -> NameShapes:
        return NameShapes((piece.lower() for piece in self._pieces()), len(self._names))

    @cached_property
    def _parts(self) -> list[str]:
        """What stands between the dots of all names, without numbers."""
        parts: set[str] = set()
        for piece in self._pieces():
            parts.update(piece.lower().replace("\n", ".").split("."))
        return sorted(part for part in parts if not part.isdigit())

    def nearest(self, word: str) -> list[str]:
        """Up to three parts of names that are written much like a word, the nearest first."""
        return get_close_matches(word.lower(), self._parts, n=3)

    def prepare(self) -> None:
        """Lay out now what the first search by text needs, and one that finds nothing."""
        _ = self._lower, self._shapes, self._parts

    def containing(self, text: str, *, case: bool) -> Bools:
        """For each name, as `place` counts them, whether it contains a text."""
        if case:
            return self._exact.containing(text)
        wanted = text.lower()
        raw = wanted.encode("utf-8", "replace")
        hit = self._shapes.containing(raw, self._lower.bytes, self._lower.starts)
        return self._lower.containing(wanted) if hit is None else hit

    def matching(self, pattern: str, *, case: bool) -> Bools:
        """For each name, as `place` counts them, whether it matches an expression somewhere.

        Raises ExpressionError when it is none, is too large or takes too long.
        """
        expression = LineExpression(pattern, case=case)
        text = self._exact
        return expression.in_lines(text.bytes.data, text.starts)


class _Text:
    """Names, one a line, in one piece of UTF-8, with the place where each begins."""

    def __init__(self, lines: bytes, count: int) -> None:
        raw = (lines + b"\n" if count else b"") + bytes(_WORD)
        self.bytes = np.frombuffer(raw, dtype=np.uint8)[:-_WORD]
        self.starts = np.append(0, np.flatnonzero(self.bytes == ord("\n")) + 1)[:-1]
        # Every place of the text as eight bytes at once: one look instead of eight.
        self.words = np.ndarray(len(self.bytes), dtype="<u8", buffer=raw, strides=(1,))
        self.frequency = np.bincount(self.bytes[::_SAMPLED], minlength=256)

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
