"""Parameters that some ranks have and others lack that should have them too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from builder.ranks.joining.parts import RunValues
from builder.ranks.layout.coordinates import RunLayout

# Along these axes ranks hold other layers and other experts; along all others the same ones.
_DIVIDING = ("pp", "ep")


def lone_parameters(
    values: RunValues, is_parameter: Callable[[RunValues, int], bool]
) -> Iterator[str]:
    """The parameters, by entry and key, that a rank lacks and others of its stage have."""
    standing = _standing(values.run.layout)
    known: dict[tuple[int, ...], bool] = {}  # of many parameters, which lie on the same few ranks
    for index, parts in enumerate(values.run.parts):
        if not is_parameter(values, index):
            continue
        ranks = parts.places.ranks
        if ranks not in known:
            known[ranks] = _are_some(standing, frozenset(ranks))
        if known[ranks]:
            yield f"{values.owner[index]}.{values.keys[index]}"


def _standing(layout: RunLayout) -> dict[int, list[int]]:
    """By rank all that stand where it does on the axes that divide a model."""
    by_place: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for rank, place in layout.places.items():
        by_place[tuple(place.at.get(axis, 0) for axis in _DIVIDING)].append(rank)
    return {rank: ranks for ranks in by_place.values() for rank in ranks}


def _are_some(standing: Mapping[int, list[int]], holders: frozenset[int]) -> bool:
    """Whether another rank stands where holders do."""
    places = {id(ranks): ranks for rank in holders if (ranks := standing.get(rank)) is not None}
    return any(rank not in holders for ranks in places.values() for rank in ranks)
