"""What a run is fed: tensors that its first calls read and that no recorded call puts out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from builder.results.node_words import Bools
from builder.results.reading import ReadsNodes
from builder.results.records import Count, FirstOutput, Value, ValuePair

MOST_READERS = 12
"""Boxes whose inputs are looked up: a run is fed at few places."""


class GraphInput(msgspec.Struct, frozen=True, gc=False):
    """A tensor that the box at `reader` reads as its input `value`, on the problem's side if there.

    It was fed to the run, or made by what was not recorded.
    """

    reader: Count
    value: str
    tensor: FirstOutput


def unfed_places(
    shown: Sequence[int], parents: Sequence[int | None], lanes: Sequence[str], fed: Bools
) -> list[int]:
    """The closed boxes of the forward pass that nothing feeds, nor anything that they stand in."""
    fed_box = dict(zip(shown, fed.tolist(), strict=True))
    parent_of = dict(zip(shown, parents, strict=True))
    holding = set(parents)
    found: list[int] = []
    for place, lane in zip(shown, lanes, strict=True):
        above: int | None = place
        while above is not None and not fed_box[above]:
            above = parent_of[above]
        if above is None and lane == "forward" and place not in holding:
            found.append(place)
    return found


def inputs_of(results: ReadsNodes, readers: Sequence[tuple[int, int]]) -> list[GraphInput]:
    """The inputs of boxes that nothing feeds, each given by its place and node.

    Weights that a call is given as arguments are no inputs of a run: they require gradients.
    """
    found: list[GraphInput] = []
    for place, node in readers[:MOST_READERS]:
        pairs = sorted(results.details(node).values, key=lambda pair: pair.path)
        for pair in pairs:
            value = _tensor(pair)
            if value is not None:
                seen = FirstOutput(value.shape, value.dtype, value.norm)
                found.append(GraphInput(place, f"{pair.role}.{pair.path}", seen))
    return found


def _tensor(pair: ValuePair) -> Value | None:
    value = pair.problem or pair.benchmark
    if pair.role != "input" or value is None or value.shape is None or value.requires_grad:
        return None
    return value
