"""Steps × ranks as a strip: ranks whose cells look alike are one row, whatever their number.

Scores of different ranks are never equal to the last digit, so cells are compared as they are
drawn: agrees, or one of three depths of red.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Literal, TypeAlias

import msgspec

from builder.results.records import Count, Pair

# A divergent score is drawn in one of these depths: below the bound.
_BOUNDS = (0.5, 0.75)

Look: TypeAlias = Literal["agrees", "low", "middle", "high", "unscored", "failed", "missing"]


class StripCell(msgspec.Struct, frozen=True):
    """One step of a row: the worst score of its ranks, and how it is drawn; null: no such pair."""

    look: Look
    worst: float | None
    divergent: Count


class StripRow(msgspec.Struct, frozen=True):
    """Ranks that look and begin alike; `cells` in the order of the strip's steps.

    `first` is the first step in which they diverge and `begins` the share of it before their first
    divergent node; null where nothing diverges, or where the file does not tell.
    """

    ranks: list[int]
    cells: list[StripCell | None]
    first: int | None
    begins: float | None


class RankStrip(msgspec.Struct, frozen=True):
    """The strip; `onset` is the first step in which anything diverges."""

    steps: list[int]
    rows: list[StripRow]
    onset: int | None


def rank_strip(pairs: Sequence[Pair], threshold: float) -> RankStrip:
    """Merge the ranks of a file; rows in the order in which they begin to diverge."""
    steps = sorted({pair.step for pair in pairs})
    by_rank: dict[int, dict[int, Pair]] = {}
    for pair in pairs:
        by_rank.setdefault(pair.rank, {})[pair.step] = pair
    alike: dict[tuple[object, ...], list[int]] = {}
    for rank in sorted(by_rank):
        looks = tuple(_look(by_rank[rank].get(step), threshold) for step in steps)
        alike.setdefault((looks, _onset(by_rank[rank], steps)), []).append(rank)
    rows = [
        StripRow(
            ranks,
            [_cell([by_rank[r].get(s) for r in ranks], threshold) for s in steps],
            *_beginning([by_rank[r] for r in ranks], steps),
        )
        for ranks in alike.values()
    ]
    rows.sort(key=lambda row: (_or_last(row.first), _or_last(row.begins), row.ranks))
    divergent = [pair.step for pair in pairs if pair.divergent]
    return RankStrip(steps, rows, min(divergent, default=None))


def _onset(pairs: Mapping[int, Pair], steps: Sequence[int]) -> tuple[int, int] | None:
    """The first step in which a rank diverges, and at how many hundredths of it."""
    first, begins = _beginning([pairs], steps)
    return None if first is None or begins is None else (first, int(100 * begins))


def _beginning(
    ranks: Sequence[Mapping[int, Pair]], steps: Sequence[int]
) -> tuple[int | None, float | None]:
    """The first step in which any of these ranks diverges, and where in it the earliest does."""
    for step in steps:
        divergent = [pairs[step] for pairs in ranks if step in pairs and pairs[step].divergent]
        if divergent:
            known = [pair.begins for pair in divergent if pair.begins is not None]
            return step, min(known, default=None)
    return None, None


def _or_last(number: float | None) -> float:
    return inf if number is None else number


def _look(pair: Pair | None, threshold: float) -> Look | None:
    if pair is None:
        return None
    if pair.status != "ok":
        return pair.status
    if pair.worst is None:
        return "unscored"
    if pair.worst <= threshold:
        return "agrees"
    if pair.worst <= _BOUNDS[0]:
        return "low"
    return "middle" if pair.worst <= _BOUNDS[1] else "high"


def _cell(pairs: Sequence[Pair | None], threshold: float) -> StripCell | None:
    look = _look(pairs[0], threshold)
    known = [pair for pair in pairs if pair is not None]
    if look is None:
        return None
    scores = [pair.worst for pair in known if pair.worst is not None]
    return StripCell(look, max(scores, default=None), sum(pair.divergent for pair in known))
