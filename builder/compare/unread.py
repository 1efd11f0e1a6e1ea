"""Inputs that a call does not read: with beta 0, what a product is added to may hold anything.

Megatron gives `baddbmm` a buffer that nobody ever writes.
"""

from __future__ import annotations

import numpy as np

from builder.match.nodes import Matching
from builder.match.tree import Tree
from builder.match.value_pairing import SURPLUS, ValuePairs

_ADDING = frozenset("addmm addmm_ addmv addmv_ addr addr_ addbmm addbmm_ baddbmm baddbmm_".split())
_ADDED_TO = frozenset(("input.0", "input.input", "input.self"))


def unread_rows(matching: Matching, pairs: ValuePairs) -> list[int]:
    """The rows of inputs that the calls of both runs leave unread."""
    adding = [
        node.exec_order
        for node in matching.problem.in_order
        if node.entry is not None and node.entry.type_name in _ADDING
    ]
    if not adding:
        return []
    rows = np.flatnonzero(np.isin(pairs.node, adding)).tolist()
    keys = matching.problem.dump.values.keys
    key_of = {row: keys[pairs.problem[row]] for row in rows if pairs.problem[row] != SURPLUS}
    sides = ((matching.problem, pairs.problem), (matching.benchmark, pairs.benchmark))
    without = {
        int(pairs.node[row])
        for row, key in key_of.items()
        if key == "input.beta" and all(_is_zero(tree, int(at[row])) for tree, at in sides)
    }
    return [r for r, key in key_of.items() if key in _ADDED_TO and int(pairs.node[r]) in without]


def _is_zero(tree: Tree, index: int) -> bool:
    return index != SURPLUS and tree.dump.values.records[index].value == 0
