"""Compares the values of matched nodes: an error and a score per value, scores per node.

The result is arrays over value pairs and over nodes in execution order; nothing is written here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from builder.attributes import NOTHING, differing_attributes, has_own_error, own_error
from builder.columns import Columns, columns_of
from builder.dump.forms import Forms
from builder.dump.reader import Dump
from builder.dump.values import Record
from builder.kinds import Kinds
from builder.match.nodes import Matching
from builder.match.values import SURPLUS, ValuePairs, pair_values
from builder.measure.dumped_tensors import measure_files
from builder.measure.statistics import (
    Floats,
    Statistics,
    norm_relative_error,
    relative_error,
)
from builder.measure.tensors import TensorMeasures
from builder.rounding import (
    forgive_products,
    forgive_quotients,
    forgive_rounding,
    reduced_gradients,
    statistical_distance,
)
from builder.score import Tolerance, base_precision, block_depths, coarsest_epsilon, score_of
from msprobe_core.format import TENSOR_DIR

Mode = Literal["statistics", "tensor", "md5", "structure"]


@dataclass(slots=True)
class Comparison:
    """All that was measured on one matched pair of trees.

    By row of `pairs`: `records` and `statistics` of both sides, `keys`, `error`, its tolerance
    `limit`, `score`, `norm_error`, `is_output`; `tensors`, `unreadable` and `differs` (what differs
    besides the numbers) where there is something to say. By the problem's nodes in execution order:
    `depth` in blocks, `node_score`, `node_input_score` (NaN = no values). `columns` holds what is
    known of each side's values in their own order, `forms` what their form numbers mean.
    """

    mode: Mode
    matching: Matching
    pairs: ValuePairs
    records: tuple[list[Record], list[Record]]
    statistics: tuple[Statistics, Statistics]
    keys: list[str]
    precision: tuple[str, str]
    depth: Floats
    error: Floats
    limit: Floats
    score: Floats
    norm_error: Floats
    is_output: NDArray[np.bool_]
    node_score: Floats
    node_input_score: Floats
    differs: dict[int, list[str]]
    tensors: dict[int, TensorMeasures]
    unreadable: dict[int, str]
    forms: Forms
    columns: tuple[Columns, Columns]

    def is_surplus(self, row: int) -> bool:
        """Whether the row's value exists on one side only."""
        return SURPLUS in (self.pairs.problem[row], self.pairs.benchmark[row])


def mode_of(problem: Dump, benchmark: Dump) -> Mode:
    """Which measures two dumps allow; a tensor dump against statistics has those in common."""
    if not problem.values.records or not benchmark.values.records:
        return "structure"
    if problem.task == benchmark.task == "tensor":
        return "tensor"
    sides = (problem.values.records, benchmark.values.records)
    if all(any(record.md5 for record in records) for records in sides):
        return "md5"
    return "statistics"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a comparison takes from the whole run when it looks at a part of it.

    `precision` is the base precision of problem and benchmark, `depth` the blocks passed per node.
    """

    precision: tuple[str, str]
    depth: Floats


def setting_of(matching: Matching, columns: tuple[Columns, Columns], forms: Forms) -> Setting:
    """The setting that two whole trees give."""
    dtypes = [form.dtype for form in forms.listed()]
    counts = (np.bincount(side.forms, minlength=len(dtypes)).tolist() for side in columns)
    ours, theirs = (base_precision(zip(dtypes, numbers)) for numbers in counts)
    return Setting((ours, theirs), block_depths(matching.problem))


def compare(
    matching: Matching, tolerance: Tolerance, setting: Setting | None = None, cores: int = 1
) -> Comparison:
    """Measure and score every value pair of two matched trees; `cores` read tensor files."""
    problem, benchmark = matching.problem.dump, matching.benchmark.dump
    pairs = pair_values(matching)
    ours = _records(problem, pairs.problem.tolist())
    theirs = _records(benchmark, pairs.benchmark.tolist())
    mode = mode_of(problem, benchmark)
    forms = Forms()
    columns = (columns_of(problem.values, forms), columns_of(benchmark.values, forms))
    setting = setting or setting_of(matching, columns, forms)
    kinds = Kinds(columns, pairs, (ours, theirs))
    left = columns[0].statistics.take(pairs.problem)
    right = columns[1].statistics.take(pairs.benchmark)
    tensors, unreadable = _measure_tensors(mode, (problem, benchmark), (ours, theirs), cores)
    nodes = pairs.node
    error = _errors(mode, kinds, (ours, theirs), (left, right), tensors)
    is_output = kinds.are_outputs(forms)
    error = _without_other_kernels(error, matching, nodes, is_output, (ours, theirs))
    limit = _tolerances(kinds, setting, nodes, tolerance)
    if mode != "md5":
        distance = statistical_distance(left, right)
        for row, measures in tensors.items():
            distance[row] = measures.euc_dist
        reduced = reduced_gradients(matching, nodes, is_output, right)
        error = forgive_rounding(error, limit, distance, reduced, right.size)
        shapes = [record.shape for record in theirs]
        error = forgive_products(error, limit, distance, matching, nodes, right, shapes)
        error = forgive_quotients(error, limit, distance, matching, nodes, is_output, right)
    score = score_of(error, limit)
    count = len(matching.problem.in_order)
    return Comparison(
        mode=mode,
        matching=matching,
        pairs=pairs,
        records=(ours, theirs),
        statistics=(left, right),
        keys=_keys(matching, pairs),
        precision=setting.precision,
        depth=setting.depth,
        error=error,
        limit=limit,
        score=score,
        norm_error=norm_relative_error(left, right),
        is_output=is_output,
        node_score=_worst_by_node(score, nodes, is_output, count),
        node_input_score=_worst_by_node(score, nodes, ~is_output, count),
        differs=_differences(kinds),
        tensors=tensors,
        unreadable=unreadable,
        forms=forms,
        columns=columns,
    )


def _without_other_kernels(
    error: Floats,
    matching: Matching,
    nodes: NDArray[np.int64],
    is_output: NDArray[np.bool_],
    records: tuple[list[Record], list[Record]],
) -> Floats:
    # A backward entry of a call holds the gradients of whatever the forward kernel ended with. On
    # another kernel those are gradients of something else, which their shapes give away.
    reshaped = [row for row, (p, b) in enumerate(zip(*records)) if p.shape != b.shape]
    other = set()
    for order in {int(nodes[row]) for row in reshaped if is_output[row]}:
        entry = matching.problem.in_order[order].entry
        if entry is not None and entry.kind == "api" and entry.direction == "backward":
            other.add(order)
    return np.asarray(np.where(is_output & np.isin(nodes, list(other)), np.nan, error))


def _records(dump: Dump, indices: list[int]) -> list[Record]:
    # SURPLUS is -1: a list with a stand-in at its end serves those too.
    records = [*dump.values.records, NOTHING]
    return list(map(records.__getitem__, indices))


def _keys(matching: Matching, pairs: ValuePairs) -> list[str]:
    ours = matching.problem.dump.values.keys
    theirs = matching.benchmark.dump.values.keys
    return [
        ours[p] if p != SURPLUS else theirs[b]
        for p, b in zip(pairs.problem.tolist(), pairs.benchmark.tolist(), strict=True)
    ]


def _errors(
    mode: Mode,
    kinds: Kinds,
    records: tuple[list[Record], list[Record]],
    statistics: tuple[Statistics, Statistics],
    tensors: dict[int, TensorMeasures],
) -> Floats:
    error = relative_error(*statistics)
    if mode == "md5":
        by_checksum = _checksum_errors(*records)
        error = np.where(np.isnan(by_checksum), error, by_checksum)
    for row, measures in tensors.items():
        error[row] = measures.relative_error
    return np.where(kinds.spread(has_own_error), kinds.spread(own_error), error)


def _checksum_errors(ours: list[Record], theirs: list[Record]) -> Floats:
    return np.array(
        [
            np.nan if p.md5 is None or b.md5 is None else float(p.md5 != b.md5)
            for p, b in zip(ours, theirs, strict=True)
        ],
        dtype=np.float64,
    )


def _measure_tensors(
    mode: Mode,
    dumps: tuple[Dump, Dump],
    records: tuple[list[Record], list[Record]],
    cores: int,
) -> tuple[dict[int, TensorMeasures], dict[int, str]]:
    measured: dict[int, TensorMeasures] = {}
    unreadable: dict[int, str] = {}
    if mode != "tensor":
        return measured, unreadable
    # The folder is taken from where dump.json lies: a dump is often moved after it was written.
    ours, theirs = (f"{dump.path / TENSOR_DIR}{os.sep}" for dump in dumps)
    files = {
        row: (ours + p.data_name, theirs + b.data_name)
        for row, (p, b) in enumerate(zip(*records, strict=True))
        if p.data_name is not None and b.data_name is not None and p.shape == b.shape
    }
    for row, outcome in measure_files(files, cores).items():
        if isinstance(outcome, str):
            unreadable[row] = outcome
        elif outcome is not None:
            measured[row] = outcome
    return measured, unreadable


def _differences(kinds: Kinds) -> dict[int, list[str]]:
    found = [
        [] if p is NOTHING or b is NOTHING else differing_attributes(p, b)
        for p, b in kinds.examples
    ]
    some = np.array([bool(attributes) for attributes in found], dtype=bool)[kinds.of_row]
    return {row: found[kinds.of_row[row]] for row in np.flatnonzero(some).tolist()}


def _tolerances(
    kinds: Kinds, setting: Setting, nodes: NDArray[np.int64], tolerance: Tolerance
) -> Floats:
    def epsilon(p: Record, b: Record) -> float:
        return coarsest_epsilon((p.dtype, b.dtype, *setting.precision))

    return np.asarray(tolerance.grown(setting.depth[nodes]) * kinds.spread(epsilon))


def _worst_by_node(
    score: Floats, nodes: NDArray[np.int64], chosen: NDArray[np.bool_], count: int
) -> Floats:
    usable = chosen & ~np.isnan(score)
    worst = np.full(count, -1.0)
    np.maximum.at(worst, nodes[usable], score[usable])
    return np.where(worst < 0, np.nan, worst)
