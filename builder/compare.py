"""Compares the values of matched nodes: an error and a score per value, scores per node.

The result is arrays over value pairs and over nodes in execution order; nothing is written here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from builder.dump.reader import Dump
from builder.dump.values import Record
from builder.match.nodes import Matching
from builder.match.values import SURPLUS, ValuePairs, pair_values
from builder.measure.statistics import (
    Floats,
    Statistics,
    norm_relative_error,
    relative_error,
    statistics_of,
)
from builder.measure.tensors import TensorFileError, TensorMeasures, compare_tensors, load_tensor
from builder.score import Tolerance, base_precision, block_depths, coarsest_epsilon, score_of
from msprobe_core.format import TENSOR_DIR, canonical_dtype

Mode = Literal["statistics", "tensor", "md5", "structure"]
Role = Literal["input", "parameters", "parameters_grad", "output"]
OUTPUT_ROLES = ("output", "parameters_grad")


@dataclass(slots=True)
class Comparison:
    """All that was measured on one matched pair of trees.

    Arrays over value pairs: `error`, `score`, `norm_error`, `is_output`. Arrays over the problem's
    nodes in execution order: `depth` in blocks, `node_score`, `node_input_score` (NaN = no values). `tensors` and
    `unreadable` are by row of `pairs`, `differs` lists what differs besides the numbers.
    """

    mode: Mode
    matching: Matching
    pairs: ValuePairs
    precision: tuple[str, str]
    depth: Floats
    error: Floats
    score: Floats
    norm_error: Floats
    is_output: NDArray[np.bool_]
    node_score: Floats
    node_input_score: Floats
    differs: dict[int, list[str]]
    tensors: dict[int, TensorMeasures]
    unreadable: dict[int, str]


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


def setting_of(matching: Matching) -> Setting:
    """The setting that two whole trees give."""
    sides = (matching.problem.dump, matching.benchmark.dump)
    ours, theirs = (base_precision(dump.values.records) for dump in sides)
    return Setting((ours, theirs), block_depths(matching.problem))


def compare(
    matching: Matching, tolerance: Tolerance, setting: Setting | None = None
) -> Comparison:
    """Measure and score every value pair of two matched trees."""
    setting = setting or setting_of(matching)
    problem, benchmark = matching.problem.dump, matching.benchmark.dump
    pairs = pair_values(matching)
    ours = [_record(problem, index) for index in pairs.problem]
    theirs = [_record(benchmark, index) for index in pairs.benchmark]
    mode = mode_of(problem, benchmark)
    left, right = statistics_of(ours), statistics_of(theirs)
    tensors, unreadable = _measure_tensors(mode, problem, benchmark, ours, theirs)
    error = _errors(mode, (ours, theirs), (left, right), tensors)
    differs = _differences(ours, theirs)
    depth = setting.depth[np.array(pairs.node, dtype=np.int64)]
    score = score_of(error, _tolerances(ours, theirs, setting.precision, depth, tolerance))
    keys = [
        problem.values.keys[p] if p != SURPLUS else benchmark.values.keys[b]
        for p, b in zip(pairs.problem, pairs.benchmark, strict=True)
    ]
    is_output = np.array([key.startswith(OUTPUT_ROLES) for key in keys], dtype=bool)
    count = len(matching.problem.in_order)
    nodes = np.array(pairs.node, dtype=np.int64)
    return Comparison(
        mode=mode,
        matching=matching,
        pairs=pairs,
        precision=setting.precision,
        depth=setting.depth,
        error=error,
        score=score,
        norm_error=norm_relative_error(left, right),
        is_output=is_output,
        node_score=_worst_by_node(score, nodes, is_output, count),
        node_input_score=_worst_by_node(score, nodes, ~is_output, count),
        differs=differs,
        tensors=tensors,
        unreadable=unreadable,
    )


_NOTHING = Record()


def _record(dump: Dump, index: int) -> Record:
    return dump.values.records[index] if index != SURPLUS else _NOTHING


def _errors(
    mode: Mode,
    records: tuple[list[Record], list[Record]],
    statistics: tuple[Statistics, Statistics],
    tensors: dict[int, TensorMeasures],
) -> Floats:
    left, right = statistics
    if mode == "md5":
        error = _checksum_errors(*records)
        without = np.isnan(error)
        error[without] = relative_error(left, right)[without]
    else:
        error = relative_error(left, right)
    for row, measures in tensors.items():
        error[row] = measures.relative_error
    for row, (ours, theirs) in enumerate(zip(*records, strict=True)):
        if ours is _NOTHING or theirs is _NOTHING:
            error[row] = np.nan
        elif ours.dtype is None or theirs.dtype is None:
            error[row] = argument_error(ours, theirs)
        elif ours.shape != theirs.shape:
            error[row] = np.inf
    return error


def argument_error(ours: Record, theirs: Record) -> float:
    """0 where two non-tensor arguments mean the same, infinite where they differ.

    Process groups compare by their ranks: group ids are drawn anew in every run.
    """
    if ours.group_ranks is not None and theirs.group_ranks is not None:
        return 0.0 if ours.group_ranks == theirs.group_ranks else np.inf
    if (ours.dtype is None) != (theirs.dtype is None):
        return np.inf
    if isinstance(ours.value, float) and isinstance(theirs.value, float):
        close = abs(ours.value - theirs.value) <= 1e-12 * abs(theirs.value)
        both_nan = ours.value != ours.value and theirs.value != theirs.value
        return 0.0 if close or both_nan else np.inf
    if ours.type == theirs.type == "torch.dtype":
        same = canonical_dtype(str(ours.value)) == canonical_dtype(str(theirs.value))
        return 0.0 if same else np.inf
    return 0.0 if ours.value == theirs.value else np.inf


def _checksum_errors(ours: list[Record], theirs: list[Record]) -> Floats:
    return np.array(
        [
            np.nan if p.md5 is None or b.md5 is None else float(p.md5 != b.md5)
            for p, b in zip(ours, theirs, strict=True)
        ],
        dtype=np.float64,
    )


def _measure_tensors(
    mode: Mode, problem: Dump, benchmark: Dump, ours: list[Record], theirs: list[Record]
) -> tuple[dict[int, TensorMeasures], dict[int, str]]:
    measured: dict[int, TensorMeasures] = {}
    unreadable: dict[int, str] = {}
    if mode != "tensor":
        return measured, unreadable
    # The folder is taken from where dump.json lies: a dump is often moved after it was written.
    folders = (problem.path / TENSOR_DIR, benchmark.path / TENSOR_DIR)
    for row, (p, b) in enumerate(zip(ours, theirs, strict=True)):
        if p.data_name is None or b.data_name is None or p.shape != b.shape:
            continue
        try:
            measures = compare_files(folders[0] / p.data_name, folders[1] / b.data_name)
        except TensorFileError as error:
            unreadable[row] = str(error)
            continue
        if measures is not None:
            measured[row] = measures
    return measured, unreadable


def compare_files(problem: Path, benchmark: Path) -> TensorMeasures | None:
    """Measure two tensor files; raises TensorFileError naming the file that cannot be used."""
    arrays = []
    for path in (problem, benchmark):
        try:
            arrays.append(load_tensor(path))
        except TensorFileError as error:
            raise TensorFileError(f"{path}: {error}") from None
    return compare_tensors(arrays[0], arrays[1])


def _differences(ours: list[Record], theirs: list[Record]) -> dict[int, list[str]]:
    differs: dict[int, list[str]] = {}
    for row, (p, b) in enumerate(zip(ours, theirs, strict=True)):
        if p is _NOTHING or b is _NOTHING:
            continue
        found = differing_attributes(p, b)
        if found:
            differs[row] = found
    return differs


def differing_attributes(p: Record, b: Record) -> list[str]:
    """Which of type, dtype, shape, requires_grad and value differ between two values."""
    if p.dtype is None or b.dtype is None:
        return ["value"] if argument_error(p, b) else []
    found = []
    if p.dtype != b.dtype and canonical_dtype(p.dtype) != canonical_dtype(b.dtype):
        found.append("dtype")
    if p.shape != b.shape:
        found.append("shape")
    if p.requires_grad != b.requires_grad and None not in (p.requires_grad, b.requires_grad):
        found.append("requires_grad")
    return found


def _tolerances(
    ours: list[Record],
    theirs: list[Record],
    precision: tuple[str, str],
    depth: Floats,
    tolerance: Tolerance,
) -> Floats:
    epsilons: dict[tuple[str | None, str | None], float] = {}
    column = np.empty(len(ours))
    for row, (p, b) in enumerate(zip(ours, theirs, strict=True)):
        key = (p.dtype, b.dtype)
        epsilon = epsilons.get(key)
        if epsilon is None:
            epsilon = epsilons[key] = coarsest_epsilon((*key, *precision))
        column[row] = epsilon
    return np.asarray(tolerance.factor * tolerance.growth**depth * column)


def _worst_by_node(
    score: Floats, nodes: NDArray[np.int64], chosen: NDArray[np.bool_], count: int
) -> Floats:
    usable = chosen & ~np.isnan(score)
    worst = np.full(count, -1.0)
    np.maximum.at(worst, nodes[usable], score[usable])
    return np.where(worst < 0, np.nan, worst)
