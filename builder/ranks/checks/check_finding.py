"""What a check of ranks finds, and what a group of them is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from builder.ranks.layout.coordinates import RunLayout
from msprobe_core.format import group_id

Check = Literal["replica", "collective", "group", "partial", "update", "share"]


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """A place where the ranks of a step do not fit together; `ranks` are those that are off."""

    check: Check
    step: int
    node: str
    axis: str
    ranks: tuple[int, ...]
    coordinates: str
    text: str


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
