"""The overflow level of each node, from one side's own values.

critical: clean inputs, NaN or Inf in an output. high: both dirty, or the output's norm above 100
times the input's. medium: dirty inputs, clean outputs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from builder.measure.statistics import Floats, statistics_of
from builder.tree import Tree, TreeNode

GROWTH = 100.0
# Buffers that something else fills later, and masks that hold -inf on purpose.
_EXEMPT = (
    "empty",
    "new_empty",
    "masked_fill",
    "recv",
    "irecv",
    "gather",
    "all_gather",
    "_all_gather_base",
    "all_gather_into_tensor",
    "batch_isend_irecv",
)


def overflow_levels(tree: Tree) -> list[str | None]:
    """One level per node in execution order: medium, high, critical, or None."""
    values = tree.dump.values
    statistics = statistics_of(values.records)
    owner = np.full(len(values.records), -1, dtype=np.int64)
    for node in tree.in_order:
        owner[node.values[0] : node.values[1]] = node.exec_order
    known = owner >= 0
    output = np.array([key.startswith("output") for key in values.keys], dtype=bool)
    dirty = statistics.nonfinite
    norm = np.where(statistics.recorded[3] & ~dirty, statistics.table[3], np.nan)
    count = len(tree.in_order)
    dirty_in = _any_by_node(owner, known & ~output & dirty, count)
    dirty_out = _any_by_node(owner, known & output & dirty, count)
    norm_in = _largest_by_node(owner, known & ~output, norm, count)
    norm_out = _largest_by_node(owner, known & output, norm, count)
    with np.errstate(invalid="ignore"):
        grown = (norm_in > 0) & (norm_out > GROWTH * norm_in)
    return [
        None if is_exempt(node) else _level(dirty_in[i], dirty_out[i], grown[i])
        for i, node in enumerate(tree.in_order)
    ]


def _level(dirty_in: np.bool_, dirty_out: np.bool_, grown: np.bool_) -> str | None:
    if dirty_out and not dirty_in:
        return "critical"
    if (dirty_in and dirty_out) or grown:
        return "high"
    return "medium" if dirty_in else None


def is_exempt(node: TreeNode) -> bool:
    """Whether NaN and Inf in a call's output are no sign of trouble."""
    return node.entry is not None and node.entry.type_name.rstrip("_").startswith(_EXEMPT)


def _any_by_node(
    owner: NDArray[np.int64], chosen: NDArray[np.bool_], count: int
) -> NDArray[np.bool_]:
    found = np.zeros(count, dtype=bool)
    found[owner[chosen]] = True
    return found


def _largest_by_node(
    owner: NDArray[np.int64], chosen: NDArray[np.bool_], values: Floats, count: int
) -> Floats:
    usable = chosen & ~np.isnan(values)
    largest = np.full(count, np.nan)
    np.fmax.at(largest, owner[usable], values[usable])
    return largest
