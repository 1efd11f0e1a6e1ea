"""How far apart the optimizers of two runs leave parameters: the next step reads them so."""

from __future__ import annotations

from collections.abc import Iterator

from builder.compare.comparison import Comparison
from builder.match.tree import Tree, TreeNode
from builder.match.updated_parameters import bits_of

# A parameter whose update was made of what is further apart is moved by noise, or by another fault.
_ALIKE = 0.1


def updates_apart(comparison: Comparison) -> float | None:
    """The largest relative error of an updated parameter; None where that was not compared.

    It was where all calls behind the backward pass have partners, and one of them writes what the
    forward pass read. Calls of its name are those that write parameters: moments are others'.
    """
    matching = comparison.matching
    ours, theirs = (list(_updates(tree)) for tree in (matching.problem, matching.benchmark))
    if any(node not in matching.partner for node in (*ours, *theirs)):
        return None
    read = _read_forward(matching.problem)
    records = matching.problem.dump.values.records
    writes = {n.owner for n in ours for i in range(*n.values) if bits_of(records[i]) in read}
    rows: dict[int, list[int]] = {node.exec_order: [] for node in ours if node.owner in writes}
    for row, order in enumerate(comparison.pairs.node.tolist()):
        if order in rows:
            rows[order].append(row)
    return max(_written(comparison, rows), default=None)


def _updates(tree: Tree) -> Iterator[TreeNode]:
    """The calls behind the backward pass that have values."""
    for node in tree.in_order:
        if node.kind == "api" and node.phase == "after" and node.values[0] < node.values[1]:
            yield node


def _read_forward(tree: Tree) -> set[tuple[object, ...]]:
    """What tells the values that the forward pass reads."""
    values = tree.dump.values
    return {
        bits_of(values.records[index])
        for node in tree.in_order
        if node.phase == "forward"
        for index in range(*node.values)
        if not values.keys[index].startswith("output") and values.records[index].Norm
    }


def _written(comparison: Comparison, rows: dict[int, list[int]]) -> Iterator[float]:
    """The errors of what some calls put out that read nothing which is far apart."""
    error, is_output = comparison.scores.error, comparison.is_output
    for own in rows.values():
        if all(error[row] <= _ALIKE for row in own if not is_output[row]):
            yield from (float(error[row]) for row in own if is_output[row])
