"""Silent calls that cut a tensor, as `chunk` does, and the parts of it that were read."""

from __future__ import annotations

from collections import defaultdict

from builder.flow.made_of import Shape, Tensor


class Cuts:
    """What silent calls were found to have cut, by their place, and the parts that were read."""

    def __init__(self) -> None:
        self._whole: dict[int, Tensor] = {}
        self._parts: defaultdict[int, dict[int, Shape]] = defaultdict(dict)

    def note(self, place: int, whole: Tensor, part: Tensor) -> None:
        """Remember a cut, and a part by its fingerprint."""
        self._whole[place] = whole
        self._parts[place][part.print] = part.shape

    def whole_at(self, place: int) -> Tensor | None:
        """What a call has cut, as far as one knows."""
        return self._whole.get(place)

    def has_more(self, place: int, whole: Tensor, part: Tensor) -> bool:
        """Whether a call made more parts of a size than were read."""
        known = self._parts[place]
        fits = not known or part.shape in known.values()
        return fits and len(known) < whole.size // max(1, part.size)
