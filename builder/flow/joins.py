"""Of joined tensors: which pieces a later one was joined from, where numbers fit several.

A list that grows is joined anew each time, `cat([x, a, b])`; another model joins what it joined
before, `cat([cat([x, a]), b])`. The results are equal. What was had where it was made tells them
apart, and where both were had nothing does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from builder.flow.made_of import MOST_PIECES, Tensor


class Joins:
    """What was joined so far, by fingerprint."""

    def __init__(self) -> None:
        self._pieces: dict[int, list[Tensor]] = {}
        self._holding: defaultdict[int, list[int]] = defaultdict(list)
        self._whole: dict[int, Tensor] = {}

    def note(self, whole: Tensor, pieces: Sequence[Tensor]) -> None:
        """Remember what a tensor was joined from."""
        if len(pieces) > 1 and whole.print not in self._pieces:
            self._pieces[whole.print] = list(pieces)
            self._whole[whole.print] = whole
            self._holding[pieces[0].print].append(whole.print)

    def apart(
        self, pieces: Sequence[Tensor], is_had: Callable[[Tensor], bool]
    ) -> tuple[list[Tensor], frozenset[int]]:
        """Pieces without what was joined before, and those that may have come joined.

        The latter by their fingerprints. What was joined and was not had is taken apart, and so is
        what was had with all that is in it: its elements come from there in either case.
        """
        flat: list[Tensor] = []
        for one in pieces:
            inner = self._pieces.get(one.print, [])
            parts = bool(inner) and (not is_had(one) or all(is_had(each) for each in inner))
            flat += inner if parts and len(inner) + len(flat) <= MOST_PIECES else [one]
        unique = list({one.print: one for one in flat}.values())
        return unique, self._doubtful(unique, is_had)

    def _doubtful(self, pieces: list[Tensor], is_had: Callable[[Tensor], bool]) -> frozenset[int]:
        prints = {one.print for one in pieces}
        inside = (
            {one.print for one in self._pieces[whole]}
            for first in prints
            for whole in self._holding.get(first, ())
            if is_had(self._whole[whole])
        )
        return frozenset(one for parts in inside if parts < prints for one in parts)
