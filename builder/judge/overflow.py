"""The overflow level of each node, and where overflow begins, from one side's own values.

critical: clean inputs, NaN or Inf in an output. high: both dirty, or the output's norm above 100
times the input's and so large that to grow as much once more would leave its format: by itself
growth is no sign of an overflow, a root of small numbers or the gradient of a sum grow so. medium:
dirty inputs, clean outputs. A parameter's gradient is an output whose input is the gradient that
flows into its module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from builder.compare.mask_constants import are_smallest
from builder.compare.statistics import Floats, Statistics, nonfinite_state, statistics_of
from builder.dump.forms import OUTPUT_ROLES
from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from builder.match.tree import Tree, TreeNode
from builder.operators.table import has
from msprobe_core.format import COMMUNICATION, canonical_dtype

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


def overflow_levels(tree: Tree, statistics: Statistics | None = None) -> list[str | None]:
    """One level per node in execution order: medium, high, critical, or None.

    `statistics` are those of all values of the dump, where they are gathered already.
    """
    values = tree.dump.values
    if statistics is None:
        statistics = statistics_of(values.records)
    owner = np.full(len(values.records), -1, dtype=np.int64)
    for node in tree.in_order:
        owner[node.values[0] : node.values[1]] = node.exec_order
    known = owner >= 0
    output = np.array([key.startswith(OUTPUT_ROLES) for key in values.keys], dtype=bool)
    dirty = statistics.nonfinite
    masked = statistics.overflowed[3] | are_smallest(statistics.table[1])  # grown on purpose
    norm = np.where(statistics.recorded[3] & ~dirty & ~masked, statistics.table[3], np.nan)
    count = len(tree.in_order)
    dirty_in = _any_by_node(owner, known & ~output & dirty, count)
    dirty_out = _any_by_node(owner, known & output & dirty, count)
    _hand_to_parameter_gradients(tree, dirty_in)
    norm_in = _largest_by_node(owner, known & ~output, norm, count)
    norm_out = _largest_by_node(owner, known & output, norm, count)
    with np.errstate(invalid="ignore", over="ignore"):
        grown = (norm_in > 0) & (norm_out > GROWTH * norm_in)
    if grown.any():
        reach = _largest_by_node(owner, known & output, _reach(values.records, statistics), count)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            grown &= reach * (norm_out / norm_in) > 1
    levels: list[str | None] = [None] * count
    # Of thousands of nodes hardly any is one of these.
    for i in np.flatnonzero(dirty_in | dirty_out | grown).tolist():
        if not is_exempt(tree.in_order[i]):
            levels[i] = _level(dirty_in[i], dirty_out[i], grown[i])
    return levels


def _reach(records: Sequence[Record], statistics: Statistics) -> Floats:
    """The largest magnitude of each value as a share of what its format holds; NaN if unknown."""
    with np.errstate(invalid="ignore"):
        extreme = np.fmax(np.abs(statistics.table[0]), np.abs(statistics.table[1]))
    # No element is larger than the norm, which stands in where there are no extremes.
    either = statistics.recorded[0] | statistics.recorded[1]
    magnitude = np.where(either, extreme, np.abs(statistics.table[3]))
    formats = {record.dtype for record in records}
    end_of = {f: _END.get(canonical_dtype(f or ""), _END["float32"]) for f in formats}
    ends = np.fromiter((end_of[record.dtype] for record in records), np.float64, len(records))
    return np.asarray(magnitude / ends)


def _level(dirty_in: np.bool_, dirty_out: np.bool_, grown: np.bool_) -> str | None:
    if dirty_out and not dirty_in:
        return "critical"
    if (dirty_in and dirty_out) or grown:
        return "high"
    return "medium" if dirty_in else None


def _hand_to_parameter_gradients(tree: Tree, dirty_in: NDArray[np.bool_]) -> None:
    for node in tree.in_order:
        if node.holds_gradients and node.backward:
            dirty_in[node.exec_order] |= dirty_in[node.backward.exec_order]


def is_exempt(node: TreeNode) -> bool:
    """Whether NaN and Inf in a call's output are no sign of trouble."""
    return node.entry is not None and node.entry.type_name.rstrip("_").startswith(_EXEMPT)


def _any_by_node(
    owner: NDArray[np.int64], chosen: NDArray[np.bool_], count: int
) -> NDArray[np.bool_]:
    by_node = np.zeros(count, dtype=bool)
    by_node[owner[chosen]] = True
    return by_node


def _largest_by_node(
    owner: NDArray[np.int64], chosen: NDArray[np.bool_], values: Floats, count: int
) -> Floats:
    usable = chosen & ~np.isnan(values)
    largest = np.full(count, np.nan)
    np.fmax.at(largest, owner[usable], values[usable])
    return largest


# --- where NaN, infinity or saturation begins ---------------------------------------------------

CauseKind = Literal["weight", "input", "operation", "mask", "gradient", "collective", "saturation"]
# The largest finite numbers; where an infinity is clipped to them, they are what shows.
_SATURATED = "saturated"
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float8_e4m3fn": 448.0}
# The same of all formats that values come in.
_END = {**_LARGEST, "float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}


@dataclass(frozen=True, slots=True)
class Cause:
    """The first place of one rank's step where values stop being finite.

    `value` is the key of the value in `node`, `state` says NaN, Inf or saturated.
    """

    kind: CauseKind
    node: TreeNode
    value: str
    state: str


def first_cause(tree: Tree) -> Cause | None:
    """Where NaN or infinity begins in execution order, or else where a value saturates.

    A collective whose own inputs are finite is named too: whether another rank sent what it put
    out, only all ranks together tell.
    """
    return _Search(tree, _nonfinite_states(tree)).first() or _Search(tree, _saturated(tree)).first()


def nonfinite_values(tree: Tree) -> int:
    """How many values of a dump hold NaN or infinity."""
    return len(_nonfinite_states(tree))


def has_values(tree: Tree) -> bool:
    """Whether a dump has statistics to look at."""
    return any(record.Max is not None for record in tree.dump.values.records)


def dirty_inputs(tree: Tree, node: TreeNode) -> bool:
    """Whether a call is given NaN or infinity."""
    start, stop = node.values
    keys, records = tree.dump.values.keys, tree.dump.values.records
    return any(nonfinite_state(records[i]) for i in range(start, stop) if not _is_output(keys[i]))


class _Search:
    """Goes through the nodes in execution order; `_seen` once a call put it out on purpose."""

    def __init__(self, tree: Tree, states: dict[int, str]) -> None:
        self._tree = tree
        self._states = states
        self._keys = tree.dump.values.keys
        self._seen = False

    def first(self) -> Cause | None:
        if not self._states:
            return None
        for node in self._tree.in_order:
            bad = [i for i in range(*node.values) if i in self._states]
            if not bad:
                continue
            cause = self._judge(node, bad)
            if cause is not None:
                return cause
            self._seen = True
        return None

    def _judge(self, node: TreeNode, bad: list[int]) -> Cause | None:
        given = [i for i in bad if not _is_output(self._keys[i])]
        if is_deliberate(self._tree, node) and not _is_communication(node):
            if _may_hold_nan(self._tree, node):
                return None
            bad = [i for i in bad if self._states[i] == "NaN"]
            if not bad:
                return None
            given = [i for i in bad if i in given]
        if not given:
            return self._cause(_kind(node), node, bad[0])
        weight = self._weight(node)
        if weight is not None:
            return weight
        if not self._seen:
            kind: CauseKind = "gradient" if node.direction == "backward" else "input"
            return self._cause(kind, node, given[0])
        # Infinities that are there on purpose become NaN where nothing else is left.
        made = [i for i in bad if i not in given and self._states[i] == "NaN"]
        if made and all(self._states[i] == "Inf" for i in given):
            kind = _kind(node)
            return self._cause("mask" if kind == "operation" else kind, node, made[0])
        return None

    def _weight(self, node: TreeNode) -> Cause | None:
        above: TreeNode | None = node
        while above is not None:
            for index in range(*above.values):
                if index in self._states and self._keys[index].startswith("parameters."):
                    return self._cause("weight", above, index)
            above = above.parent
        return None

    def _cause(self, kind: CauseKind, node: TreeNode, index: int) -> Cause:
        state = self._states[index]
        if state == _SATURATED:
            kind = "saturation"
        return Cause(kind, node, self._keys[index], state)


def is_deliberate(tree: Tree, node: TreeNode) -> bool:
    """Whether a call puts out NaN or infinity on purpose, or memory that was never written."""
    if is_exempt(node):
        return True
    keys, records = tree.dump.values.keys, tree.dump.values.records
    given = [records[i] for i in range(*node.values) if not _is_output(keys[i])]
    # The reader has an infinite argument as text.
    if all(r.type != "float" or isfinite(number_of(str(r.value))) for r in given):
        return False
    return not (_calculates(node) and any(map(_varies, given)))


def _may_hold_nan(tree: Tree, node: TreeNode) -> bool:
    """Whether NaN is meant too: memory to be filled later, or where the argument is NaN.

    A mask is infinite.
    """
    if is_exempt(node) and not _fills(node):
        return True
    keys, records = tree.dump.values.keys, tree.dump.values.records
    given = [records[i] for i in range(*node.values) if not _is_output(keys[i])]
    return any(r.type == "float" and isnan(number_of(str(r.value))) for r in given)


def _fills(node: TreeNode) -> bool:
    return node.entry is not None and node.entry.type_name.startswith("masked_fill")


def _calculates(node: TreeNode) -> bool:
    """Whether a call computes with its argument, in place of putting it somewhere as a mask."""
    return node.entry is not None and has(node.entry.type_name, "arithmetic")


def _varies(record: Record) -> bool:
    """Whether a value is a tensor of unlike numbers: ones · −inf is a mask, data · inf is none."""
    return record.dtype is not None and record.Max != record.Min


def _kind(node: TreeNode) -> CauseKind:
    if _is_communication(node):
        return "collective"
    return "gradient" if node.direction == "backward" else "operation"


def _is_communication(node: TreeNode) -> bool:
    return node.entry is not None and node.entry.prefix in COMMUNICATION


def _is_output(key: str) -> bool:
    return key.startswith(OUTPUT_ROLES)


def _nonfinite_states(tree: Tree) -> dict[int, str]:
    """By extremes, or else by a mean and norm that no overflow of their sum explains."""
    records = tree.dump.values.records
    bad = np.flatnonzero(statistics_of(records).nonfinite).tolist()
    return {
        index: nonfinite_state(records[index]) or _state_of_sums(records[index]) for index in bad
    }


def _state_of_sums(record: Record) -> str:
    sums = [number_of(cell) for cell in (record.Mean, record.Norm) if cell is not None]
    return "NaN" if any(map(isnan, sums)) else "Inf"


def _saturated(tree: Tree) -> dict[int, str]:
    # Masks hold the smallest number on purpose, so only the largest counts.
    return {
        index: _SATURATED
        for index, record in enumerate(tree.dump.values.records)
        if record.dtype is not None
        and number_of(record.Max) == _LARGEST.get(canonical_dtype(record.dtype), inf)
    }
