"""What a check of ranks finds, and what a group of them is for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from builder.ranks.layout.coordinates import RunLayout
from builder.reasons import RankReason, sentence
from msprobe_core.format import group_id

Check = Literal["replica", "collective", "group", "partial", "update", "share"]


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """A place where the ranks of a step do not fit together; `ranks` are those that are off.

    `inside` is the module in which a call is made.
    """

    check: Check
    step: int
    node: str
    axis: str
    ranks: tuple[int, ...]
    coordinates: str
    reasons: tuple[RankReason, ...]
    inside: str = ""

    @property
    def text(self) -> str:
        """The reasons in words."""
        return "; ".join(map(sentence, self.reasons))


def listed(names: Iterable[object], most: int = 8) -> str:
    """Ranks or names with commas between, of very many the first and how many more there are."""
    shown = [str(name) for name in names]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def axis_of(layout: RunLayout, ranks: Sequence[int]) -> str | None:
    """What a group of ranks is for, else the axis along which they lie; None for several axes."""
    named = layout.groups.get(group_id(ranks))
    if named is not None:
        return named
    places = [layout.places[rank].at for rank in ranks if rank in layout.places]
    if len(places) < 2:
        return None
    varying = [axis for axis in layout.sizes if len({at.get(axis, 0) for at in places}) > 1]
    return varying[0] if len(varying) == 1 else None
