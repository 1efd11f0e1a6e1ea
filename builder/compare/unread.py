"""Values that say nothing of a call: inputs that it does not read, and what means another thing.

With beta 0, what a product is added to may hold anything: Megatron gives `baddbmm` a buffer that
nobody ever writes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from builder.match.nodes import Matching
from builder.match.tree import Tree
from builder.match.value_pairing import SURPLUS, ValuePairs
from builder.operators.table import has
from msprobe_core.format import framework_named

_ADDED_TO = frozenset(("input.0", "input.input", "input.self"))


def unread_rows(matching: Matching, pairs: ValuePairs) -> list[int]:
    """The rows of inputs that the calls of both runs leave unread."""
    adding = [node.exec_order for node in matching.problem.in_order if has(node.call, "adds_onto")]
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


def rows_of_another_meaning(
    matching: Matching, nodes: NDArray[np.int64], is_output: NDArray[np.bool_]
) -> list[int]:
    """The gradients that two frameworks' backward entries of a call put out.

    Some are those of the call's inputs, others what the last node of the graph sent, which for a
    call of several nodes are gradients of something inside it. Those of inputs stand in the entries
    of the modules and of the calls before.
    """
    trees = (matching.problem, matching.benchmark)
    ours, theirs = (framework_named(tree.dump.framework).gradients for tree in trees)
    if not matching.across_frameworks or (ours is not None and ours == theirs):
        return []
    backward = [
        node.exec_order
        for node in matching.problem.in_order
        if node.kind == "api" and node.direction == "backward"
    ]
    return list(np.flatnonzero(is_output & np.isin(nodes, backward)).tolist())


def _is_zero(tree: Tree, index: int) -> bool:
    return index != SURPLUS and tree.dump.values.records[index].value == 0
