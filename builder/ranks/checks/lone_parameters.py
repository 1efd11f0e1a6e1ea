"""Parameters that some ranks have and others lack that should have them too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from builder.ranks.joining.parts import RunValues
from builder.ranks.layout.coordinates import RunLayout

# Along these axes ranks hold other layers and other experts; along all others the same ones.
_DIVIDING = ("pp", "ep")


def lone_parameters(
    values: RunValues, is_parameter: Callable[[RunValues, int], bool]
) -> Iterator[str]:
    """The parameters, by entry and key, that a rank lacks and others of its stage have."""
    layout = values.run.layout
    known: dict[tuple[int, ...], bool] = {}  # of many parameters, which lie on the same few ranks
    for index, parts in enumerate(values.run.parts):
        if not is_parameter(values, index):
            continue
        ranks = parts.places.ranks
        if ranks not in known:
            known[ranks] = _are_some(layout, frozenset(ranks))
        if known[ranks]:
            yield f"{values.owner[index]}.{values.keys[index]}"


def _are_some(layout: RunLayout, holders: frozenset[int]) -> bool:
    """Whether another rank stands where holders do, on the axes that divide a model."""
    held = {_stand(layout.places[rank].at) for rank in holders if rank in layout.places}
    others = (place.at for rank, place in layout.places.items() if rank not in holders)
    return any(_stand(at) in held for at in others)


def _stand(at: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(at.get(axis, 0) for axis in _DIVIDING)
