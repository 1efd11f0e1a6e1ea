"""Measures a pair of nodes that a person mapped by hand, with the code that measures all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from builder.compare.comparison import Comparison, Setting, compare
from builder.compare.forgiveness import LetPassBy
from builder.compare.score import Tolerance
from builder.compare.tensors import TensorMeasures
from builder.dump.reader import Dump
from builder.dump.statistic_cells import known_or_none
from builder.dump.values import Record, Values
from builder.judge.verdict import Verdict, judge
from builder.match.nodes import Matching
from builder.match.tree import ROOT_NAME, Tree, TreeNode, make_node
from builder.match.value_pairing import SURPLUS
from builder.reasons import Reason
from msprobe_core.format import SKETCH_VERSION


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A value as the database has it: its id, its key (`input.0`) and its record."""

    id: int
    key: str
    record: Record


@dataclass(frozen=True, slots=True)
class StoredNode:
    """One side of a manual pair; `folder` is the rank directory that the values came from."""

    name: str
    values: Sequence[StoredValue]
    task: str
    folder: Path
    precision: str


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """The outcome of one value pair by value ids; None on the side where it is surplus."""

    problem: int | None
    benchmark: int | None
    error: float | None
    score: float | None
    differs: Sequence[str]
    tensor: TensorMeasures | None
    let_pass: LetPassBy | None = None


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """What the builder says of a manual pair."""

    score: float | None
    input_score: float | None
    introduced: float | None
    verdict: Verdict | None
    reasons: Sequence[Reason]
    values: Sequence[MeasuredValue]


def measure_pair(
    problem: StoredNode, benchmark: StoredNode, block: int, tolerance: Tolerance
) -> MeasuredPair:
    """Compare two nodes; `block` is the problem node's count of repeated blocks passed."""
    ours, theirs = _tree(problem), _tree(benchmark)
    matching = Matching(ours, theirs)
    matching.pair(ours.root, theirs.root, "name")
    matching.pair(ours.in_order[0], theirs.in_order[0], "manual")
    setting = Setting((problem.precision, benchmark.precision), np.full(2, float(block)))
    comparison = compare(matching, tolerance, setting)
    judgement = judge(comparison).get(0)
    score = known_or_none(comparison.nodes.stated[0])
    before = known_or_none(comparison.nodes.inputs[0])
    return MeasuredPair(
        score=score,
        input_score=before,
        introduced=None if score is None else max(0.0, score - (before or 0.0)),
        verdict=judgement.verdict if judgement is not None else None,
        reasons=judgement.reasons if judgement is not None else (),
        values=[
            _measured(comparison, row, problem, benchmark)
            for row in range(len(comparison.pairs.node))
        ],
    )


def _tree(stored: StoredNode) -> Tree:
    values = Values([v.key for v in stored.values], [v.record for v in stored.values])
    ranges = {stored.name: (0, len(stored.values))}
    dump = Dump(stored.folder, stored.task, "", "", values, ranges, {}, {}, {}, [], SKETCH_VERSION)
    root = TreeNode(ROOT_NAME, "root", None, exec_order=1)
    node = make_node(dump, stored.name, 0.0)
    node.parent, node.exec_order, node.depth = root, 0, 1
    root.children.append(node)
    return Tree(dump, root, {stored.name: node}, [node, root])


def _measured(
    comparison: Comparison, row: int, problem: StoredNode, benchmark: StoredNode
) -> MeasuredValue:
    ours, theirs = int(comparison.pairs.problem[row]), int(comparison.pairs.benchmark[row])
    return MeasuredValue(
        problem=problem.values[ours].id if ours != SURPLUS else None,
        benchmark=benchmark.values[theirs].id if theirs != SURPLUS else None,
        error=known_or_none(comparison.scores.error[row]),
        score=known_or_none(comparison.scores.stated[row]),
        differs=comparison.differs.get(row, ()),
        tensor=comparison.elements.tensors.get(row),
        let_pass=comparison.scores.let_pass.get(row),
    )
