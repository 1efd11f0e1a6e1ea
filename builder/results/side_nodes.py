"""The nodes of one side as arrays in pre-order: what is merged, coloured, searched and listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from builder.results.manual.patches import NodePatch
from builder.results.node_words import (
    NOTHING,
    PACKED_STATE,
    VERDICTS,
    Floats,
    Ints,
    integers,
    numbers,
    unpacked,
)

# What `from_cells` wants of each node, in SQL.
SIDE_CELLS = (
    "id",
    "coalesce(parent, -1)",
    "coalesce(match, -1)",
    "coalesce(micro_step, 0)",
    PACKED_STATE,
    "score",
    "input_score",
    "coalesce(source, -1)",
    "coalesce(exec_order, -1)",
    "introduced",
)
Cells: TypeAlias = list[Sequence[Any] | NDArray[Any]]
"""As SIDE_CELLS says, then the names."""


@dataclass(frozen=True)
class SideNodes:
    """One side in pre-order; `parent` holds indices, `match` ids; NOTHING and NaN mean none.

    `source` is an id, too; `order` is that of execution. `kind`, `direction`, `verdict` and
    `overflow` are places in the words of `columns`.
    """

    id: Ints
    parent: Ints
    match: Ints
    micro_step: Ints
    kind: Ints
    direction: Ints
    verdict: Ints
    overflow: Ints
    score: Floats
    input_score: Floats
    source: Ints
    order: Ints
    introduced: Floats
    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.id)

    def places(self, ids: Ints) -> Ints:
        """The indices of nodes by their ids; NOTHING for those that are not on this side."""
        if not len(self.id):
            return np.full(len(ids), NOTHING, dtype=np.int64)
        known, order = self._by_id
        place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.where(known[place] == ids, order[place], NOTHING)

    @cached_property
    def _by_id(self) -> tuple[Ints, Ints]:
        """The ids in order, and their indices: thousands of questions are for one id alone."""
        if (np.diff(self.id) > 0).all():
            return self.id, np.arange(len(self.id))
        order = np.argsort(self.id)
        return self.id[order], order

    def patched(self, patches: Mapping[int, NodePatch]) -> SideNodes:
        """The side with other states of some nodes."""
        if not patches:
            return self
        match, score, before = self.match.copy(), self.score.copy(), self.input_score.copy()
        verdict = self.verdict.copy()
        ids = np.array(list(patches), dtype=np.int64)
        for index, id_ in zip(self.places(ids).tolist(), patches, strict=True):
            if index != NOTHING:
                patch = patches[id_]
                match[index] = NOTHING if patch.match is None else patch.match
                score[index] = np.nan if patch.score is None else patch.score
                before[index] = np.nan if patch.input_score is None else patch.input_score
                verdict[index] = VERDICTS.index(patch.verdict) if patch.verdict else NOTHING
        return replace(self, match=match, score=score, input_score=before, verdict=verdict)


def from_cells(cells: Cells) -> SideNodes:
    """A side of the cells of SIDE_CELLS and the names, which stand in pre-order."""
    id_, parent, match, micro_step, state, score, input_score, source, *others = cells
    order, introduced, names = others
    words = unpacked(integers(state))
    side = SideNodes(
        id=integers(id_),
        parent=integers(parent),
        match=integers(match),
        micro_step=integers(micro_step),
        kind=words["kind"],
        direction=words["direction"],
        verdict=words["verdict"],
        overflow=words["overflow"],
        score=numbers(score),
        input_score=numbers(input_score),
        source=integers(source),
        order=integers(order),
        introduced=numbers(introduced),
        names=[str(name) for name in names],
    )
    above = side.places(side.parent)
    # A parent always stands before its children; anything else is a file made by hand.
    return replace(side, parent=np.where(above < np.arange(len(side)), above, 0 * above - 1))
