"""What a run is fed: tensors that its first calls read and that no recorded call puts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from builder.results.node_words import NOTHING, Bools
from builder.results.reading import ReadsValues
from builder.results.records import Count, FirstOutput, UnmadeInput
from tb_graph_ascend.view.diff.drawn import KNOWN, DrawnEdges

MOST_READERS = 24
"""Boxes that inputs are shown of: a run is fed at few places, tables of constants at many."""
_RECORDED_OR_EQUAL = KNOWN.index("values")


class GraphInput(msgspec.Struct, frozen=True, gc=False):
    """A tensor that the box at `reader` reads as its input `value`, on the problem's side if there.

    It was fed to the run, or made by what was not recorded.
    """

    reader: Count
    value: str
    tensor: FirstOutput


def input_readers(
    shown: Sequence[int],
    parents: Sequence[int | None],
    lanes: Sequence[str],
    fed: Bools,
    unsure: Bools,
) -> list[int]:
    """The closed boxes of the forward pass that may read what no recorded call puts out.

    Of those that something feeds, where it is known of all that does what it feeds: `fed` and
    `unsure` tell it by box.
    """
    holding = set(parents)
    cells = zip(shown, lanes, fed.tolist(), unsure.tolist(), strict=True)
    return [
        place
        for place, lane, is_fed, is_unsure in cells
        if lane == "forward" and place not in holding and not (is_fed and is_unsure)
    ]


def unsure_rows(edges: DrawnEdges, count: int) -> Bools:
    """By row whether an edge leads to it of which nobody knows the value that passes."""
    unsure = np.zeros(count, dtype=bool)
    unsure[edges.consumer[(edges.known < _RECORDED_OR_EQUAL) & (edges.value == NOTHING)]] = True
    return unsure


def unmade_by_node(
    results: ReadsValues, edges: DrawnEdges, nodes: Sequence[int]
) -> dict[int, list[UnmadeInput]]:
    """What nodes read and nothing recorded puts out, nor hands on without values, by their ids."""
    passed = set(edges.value[edges.value != NOTHING].tolist())
    found = results.unmade_inputs(nodes).items()
    kept = {node: [one for one in read if one.value not in passed] for node, read in found}
    return {node: read for node, read in kept.items() if read}


def inputs_of(
    readers: Sequence[tuple[int, int]], unmade: Mapping[int, Sequence[UnmadeInput]]
) -> list[GraphInput]:
    """The inputs of boxes, each given by its place and node, as far as they are shown."""
    reading = [(place, unmade[node]) for place, node in readers if node in unmade]
    return [
        GraphInput(place, f"input.{one.path}", one.tensor)
        for place, read in reading[:MOST_READERS]
        for one in read
    ]
