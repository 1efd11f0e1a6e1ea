"""What names have in common: with all digits alike, a million of them have a few dozen shapes.

A text is looked for in the shapes; only its digits are compared with the names themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

_ALIKE = bytes.maketrans(b"123456789", b"0" * 9)
_TEXT_ALIKE = str.maketrans("123456789", "0" * 9)
# Above this many, one scan over all names takes less time than a look at each shape.
_MOST_LOOKS = 2_000


class NameShapes:
    """The shapes of names, each once, and which of them each name has."""

    def __init__(self, pieces: Iterable[str], count: int) -> None:
        """`pieces` hold the names, one a line; `count` is how many there are."""
        places: dict[str, int] = {}
        lines = (line for piece in pieces for line in piece.translate(_TEXT_ALIKE).split("\n"))
        numbers = (places.setdefault(line, len(places)) for line in lines)
        self._of = np.fromiter(numbers, np.int64, count)
        self._shapes = [shape.encode("utf-8", "replace") for shape in places]
        self._order = np.argsort(self._of, kind="stable")
        self._edges = np.searchsorted(self._of[self._order], np.arange(len(places) + 1))

    def containing(self, wanted: bytes, text: Bytes, starts: Indices) -> Bools | None:
        """For each name whether it contains a text; None where there are too many shapes.

        `text` holds the names and `starts` where each begins.
        """
        alike = wanted.translate(_ALIKE)
        digits = [(place, byte) for place, byte in enumerate(wanted) if byte in b"0123456789"]
        fits = np.array([alike in shape for shape in self._shapes], dtype=bool)
        if not digits:
            return np.asarray(fits[self._of])
        if fits.sum() > _MOST_LOOKS:
            return None
        hit = np.zeros(len(self._of), dtype=bool)
        for shape in np.flatnonzero(fits).tolist():
            names = self._order[self._edges[shape] : self._edges[shape + 1]]
            for offset in _places_of(alike, self._shapes[shape]):
                left = names
                for place, byte in digits:
                    left = left[text[starts[left] + (offset + place)] == byte]
                hit[left] = True
        return hit


def _places_of(part: bytes, whole: bytes) -> Iterator[int]:
    place = whole.find(part)
    while place >= 0:
        yield place
        place = whole.find(part, place + 1)
