"""The module that each node is listed in, so that what a list prints can be searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from builder.results.node_words import KINDS, Bools, Ints
from builder.results.side_nodes import SideNodes
from tb_graph_ascend.view.module_path import OPTIMIZER, module_path


@dataclass(frozen=True, slots=True)
class ShownModules:
    """For each node of both sides the place of its module in `paths`; -1 at the top level."""

    place: Ints
    paths: Sequence[str]

    @classmethod
    def of(cls, *sides: SideNodes) -> ShownModules:
        """The modules that `module_path.modules_of` names, of all nodes at once."""
        known: dict[str, int] = {}
        places = [_places(side, known) for side in sides]
        return cls(np.concatenate(places), [path.lower() for path in known])

    def containing(self, text: str) -> Bools:
        """For each node whether the path of its module contains a text, in any case."""
        wanted = text.lower()
        # The last is for nodes without a module, whose place is -1.
        hit = np.array([*(wanted in path for path in self.paths), False], dtype=bool)
        return np.asarray(hit[self.place])


def _places(side: SideNodes, known: dict[str, int]) -> Ints:
    count = len(side)
    named = (side.kind == KINDS.index("module")) | (side.kind == KINDS.index("collection"))
    code = np.full(count + 1, -1, dtype=np.int64)
    for index in np.flatnonzero(named).tolist():
        path = _path(side.names[index])
        if path is not None:
            code[index] = known.setdefault(path, len(known))
    # Each node points at itself where it is named, else at its parent; the end is nowhere.
    above = np.where(side.parent >= 0, side.parent, count)
    nearest = np.append(np.where(code[:count] >= 0, np.arange(count), above), count)
    while not np.array_equal(further := nearest[nearest], nearest):
        nearest = further
    return np.asarray(code[nearest[:count]])


def _path(name: str) -> str | None:
    path = module_path(name)
    if path is None and name.split(".", 1)[0].lower() == OPTIMIZER:
        return OPTIMIZER
    return path
