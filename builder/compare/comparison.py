"""Compares the values of matched nodes: an error and a score per value, scores per node.

The result is arrays over value pairs and over nodes in execution order; nothing is written here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.compare.attributes import NOTHING, differing_attributes, has_own_error, own_error
from builder.compare.columns import Columns, columns_of
from builder.compare.dumped_tensors import measure_files
from builder.compare.forgiveness import LetPassBy, Measured, judged, not_judged
from builder.compare.mask_constants import hold_masks
from builder.compare.modes import Mode, mode_of
from builder.compare.pair_forms import PairForms
from builder.compare.precision import working_precision
from builder.compare.rounding import NOTHING_MOVED, MovedTokens, statistical_distance
from builder.compare.score import (
    Tolerance,
    base_precision,
    block_depths,
    coarsest_epsilon,
)
from builder.compare.sketches import Estimates, estimate
from builder.compare.statistics import (
    Floats,
    Statistics,
    norm_relative_error,
    relative_error,
)
from builder.compare.tensors import TensorMeasures
from builder.compare.unread import rows_of_another_meaning, unread_rows
from builder.dump.forms import Forms
from builder.dump.reader import Dump
from builder.dump.values import Record
from builder.match.nodes import Matching
from builder.match.value_pairing import SURPLUS, ValuePairs, pair_values
from msprobe_core.format import SKETCH_VERSION, spacing_near_zero


@dataclass(slots=True)
class Comparison:
    """All that was measured on one matched pair of trees.

    By row of `pairs`: `records` and `statistics` of both sides, `keys`, the measured `error`, its
    tolerance `limit`, the error as it is `judged` (what `let_pass` names is set to the tolerance),
    `score`, the `stated` score that people are told, `norm_error`, `is_output`, `distance` (L2, the
    least that is known; NaN where nothing is), `spacing` of its formats' numbers near zero,
    `unseen` (the sketches differ where all four statistics agree); `estimates` from sketches, None
    without any; `tensors`, `unreadable` and `differs` (what differs besides the numbers) where
    there is something to say; `unwritten` are the rows of memory that nobody had written, `fused`
    those of values that a compiler kept out of memory, `unread` those of inputs that their call
    does not read, `incomparable` those that mean another thing in the other framework: they have no
    error. By the problem's nodes in execution order: `depth` in blocks, `node_score`,
    `node_input_score` and `node_stated`, the worst stated one of its outputs (NaN = no values).
    `columns` holds what is known of each side's values in their own order, `forms` what their form
    numbers mean.
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
    judged: Floats
    let_pass: dict[int, LetPassBy]
    limit: Floats
    score: Floats
    stated: Floats
    norm_error: Floats
    distance: Floats
    spacing: Floats
    is_output: NDArray[np.bool_]
    node_score: Floats
    node_input_score: Floats
    node_stated: Floats
    differs: dict[int, list[str]]
    tensors: dict[int, TensorMeasures]
    unreadable: dict[int, str]
    forms: Forms
    columns: tuple[Columns, Columns]
    estimates: Estimates | None
    unseen: NDArray[np.bool_]
    unwritten: list[int]
    fused: list[int]
    unread: list[int]
    incomparable: list[int]

    def is_surplus(self, row: int) -> bool:
        """Whether the row's value exists on one side only."""
        return SURPLUS in (self.pairs.problem[row], self.pairs.benchmark[row])


@dataclass(frozen=True, slots=True)
class Setting:
    """What a comparison takes from the whole run when it looks at a part of it.

    `precision` is the working precision of problem and benchmark, `depth` the blocks passed per
    node.
    """

    precision: tuple[str, str]
    depth: Floats


def setting_of(matching: Matching, columns: tuple[Columns, Columns], forms: Forms) -> Setting:
    """The setting that two whole trees give."""
    dtypes = [form.dtype for form in forms.listed()]
    counts = (np.bincount(side.forms, minlength=len(dtypes)).tolist() for side in columns)
    ours, theirs = (base_precision(zip(dtypes, numbers)) for numbers in counts)
    precision = working_precision(matching, (ours, theirs))
    return Setting(precision, block_depths(matching.problem))


def compare(
    matching: Matching,
    tolerance: Tolerance,
    setting: Setting | None = None,
    cores: int = 1,
    moved: MovedTokens = NOTHING_MOVED,
) -> Comparison:
    """Measure and score every value pair of two matched trees; `cores` read tensor files.

    `moved` tokens went to other experts by rounding.
    """
    problem, benchmark = matching.problem.dump, matching.benchmark.dump
    pairs = pair_values(matching)
    ours = _records(problem, pairs.problem.tolist())
    theirs = _records(benchmark, pairs.benchmark.tolist())
    mode = mode_of(problem, benchmark)
    forms = Forms()
    columns = (columns_of(problem.values, forms), columns_of(benchmark.values, forms))
    setting = setting or setting_of(matching, columns, forms)
    pair_forms = PairForms(columns, pairs, (ours, theirs))
    left = columns[0].statistics.take(pairs.problem)
    right = columns[1].statistics.take(pairs.benchmark)
    tensors, unreadable = _measure_tensors(mode, (problem, benchmark), (ours, theirs), cores)
    nodes = pairs.node
    estimates = _estimates((problem, benchmark), columns, pairs, forms, (left, right))
    by_statistics = relative_error(left, right)
    error = _errors(mode, pair_forms, (ours, theirs), by_statistics, estimates, tensors)
    is_output = pair_forms.are_outputs(forms)
    error = _without_other_kernels(error, matching, nodes, is_output, (ours, theirs))
    unwritten, fused = _not_in_memory(ours, theirs)
    unread = unread_rows(matching, pairs)
    incomparable = rows_of_another_meaning(matching, nodes, is_output)
    blank = unwritten + fused + unread + incomparable
    error[blank] = np.nan
    norm_error = norm_relative_error(left, right)
    norm_error[incomparable] = np.nan
    limit = _tolerances(pair_forms, setting, nodes, tolerance)
    distance = _distances(left, right, estimates, tensors)
    spacing = pair_forms.spread(_spacing)
    counted = not_judged(error, limit)
    if mode != "md5":
        norm = _norms(left, right, estimates)
        shapes = [record.shape for record in theirs]
        known = Measured(error, limit, distance, norm, spacing, is_output, nodes, right, shapes)
        counted = judged(known, matching, moved)
    score = counted.score
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
        judged=counted.error,
        let_pass=counted.let_pass,
        limit=limit,
        score=score,
        stated=counted.stated,
        norm_error=norm_error,
        distance=distance,
        spacing=spacing,
        is_output=is_output,
        node_score=_worst_by_node(score, nodes, is_output, count),
        node_input_score=_worst_by_node(score, nodes, ~is_output, count),
        node_stated=_worst_by_node(counted.stated, nodes, is_output, count),
        differs=_differences(pair_forms, blank, matching.across_frameworks),
        tensors=tensors,
        unreadable=unreadable,
        forms=forms,
        columns=columns,
        estimates=estimates,
        unseen=_unseen(by_statistics, counted.error, limit, estimates),
        unwritten=unwritten,
        fused=fused,
        unread=unread,
        incomparable=incomparable,
    )


def _not_in_memory(ours: list[Record], theirs: list[Record]) -> tuple[list[int], list[int]]:
    """The rows of values that nobody had written, and of those that a compiler fused away."""
    pairs = list(zip(ours, theirs, strict=True))
    unwritten = [row for row, (p, b) in enumerate(pairs) if p.unwritten or b.unwritten]
    return unwritten, [row for row, (p, b) in enumerate(pairs) if p.fused or b.fused]


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


def _norms(left: Statistics, right: Statistics, estimates: Estimates | None) -> Floats:
    """The larger norm of each pair; of sums over ranks, which have none, that of the sketches."""
    norm = np.fmax(left.table[3], right.table[3])
    if estimates is None:
        return np.asarray(norm)
    with np.errstate(all="ignore"):
        estimated = estimates.distance / estimates.error
    return np.asarray(np.where(np.isnan(norm), estimated, norm))


def _keys(matching: Matching, pairs: ValuePairs) -> list[str]:
    ours = matching.problem.dump.values.keys
    theirs = matching.benchmark.dump.values.keys
    return [
        ours[p] if p != SURPLUS else theirs[b]
        for p, b in zip(pairs.problem.tolist(), pairs.benchmark.tolist(), strict=True)
    ]


def _errors(
    mode: Mode,
    pair_forms: PairForms,
    records: tuple[list[Record], list[Record]],
    error: Floats,
    estimates: Estimates | None,
    tensors: dict[int, TensorMeasures],
) -> Floats:
    if estimates is not None:
        error = np.fmax(error, estimates.error)
    if mode == "md5":
        by_checksum = _checksum_errors(*records)
        error = np.where(np.isnan(by_checksum), error, by_checksum)
    for row, measures in tensors.items():
        error[row] = measures.relative_error
    return np.where(pair_forms.spread(has_own_error), pair_forms.spread(own_error), error)


def _estimates(
    dumps: tuple[Dump, Dump],
    columns: tuple[Columns, Columns],
    pairs: ValuePairs,
    forms: Forms,
    statistics: tuple[Statistics, Statistics],
) -> Estimates | None:
    """What the sketches tell, where both sides have them and in the version that is known here."""
    versions = {dump.sketch_version for dump in dumps}
    if versions != {SKETCH_VERSION} or any(side.sketches is None for side in columns):
        return None
    ours = columns[0].take_sketches(pairs.problem)
    theirs = columns[1].take_sketches(pairs.benchmark)
    kinds = np.array([form.is_integer for form in forms.listed()], dtype=bool)
    integer = np.append(kinds[columns[0].forms], False)[pairs.problem]
    return estimate(ours, theirs, statistics, integer)


def _distances(
    ours: Statistics,
    theirs: Statistics,
    estimates: Estimates | None,
    tensors: dict[int, TensorMeasures],
) -> Floats:
    """How far apart the sides are as an L2 norm: measured, estimated, or the least possible.

    Masks of both sides, whose rounding no other number is as large as, count for none of it.
    """
    distance = statistical_distance(ours, theirs)
    if estimates is not None:
        masked = hold_masks(ours.table[:2]) & hold_masks(theirs.table[:2])
        told = masked & np.isfinite(estimates.distance)
        distance = np.where(told, estimates.distance, np.fmax(distance, estimates.distance))
    for row, measures in tensors.items():
        distance[row] = measures.euc_dist
    return distance


def _unseen(
    by_statistics: Floats, error: Floats, limit: Floats, estimates: Estimates | None
) -> NDArray[np.bool_]:
    if estimates is None:
        return np.zeros(len(error), dtype=bool)
    return (by_statistics <= limit) & (estimates.error > limit) & (error > limit)


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
    ours, theirs = (dump.tensor_finder() for dump in dumps)
    files = {
        row: (ours(p.data_name), theirs(b.data_name))
        for row, (p, b) in enumerate(zip(*records, strict=True))
        if p.data_name is not None and b.data_name is not None and p.shape == b.shape
    }
    for row, outcome in measure_files(files, cores).items():
        if isinstance(outcome, str):
            unreadable[row] = outcome
        elif outcome is not None:
            measured[row] = outcome
    return measured, unreadable


def _differences(
    pair_forms: PairForms, blank: list[int], across_frameworks: bool
) -> dict[int, list[str]]:
    differing = [
        [] if p is NOTHING or b is NOTHING else differing_attributes(p, b, across_frameworks)
        for p, b in pair_forms.examples
    ]
    some = np.array([bool(attributes) for attributes in differing], dtype=bool)[pair_forms.of_row]
    some[blank] = False
    return {row: differing[pair_forms.of_row[row]] for row in np.flatnonzero(some).tolist()}


def _tolerances(
    pair_forms: PairForms, setting: Setting, nodes: NDArray[np.int64], tolerance: Tolerance
) -> Floats:
    def epsilon(p: Record, b: Record) -> float:
        return coarsest_epsilon((p.dtype, b.dtype, *setting.precision))

    return np.asarray(tolerance.grown(setting.depth[nodes]) * pair_forms.spread(epsilon))


def _spacing(p: Record, b: Record) -> float:
    return max(spacing_near_zero(record.dtype or "") for record in (p, b))


def _worst_by_node(
    score: Floats, nodes: NDArray[np.int64], chosen: NDArray[np.bool_], count: int
) -> Floats:
    usable = chosen & ~np.isnan(score)
    worst = np.full(count, -1.0)
    np.maximum.at(worst, nodes[usable], score[usable])
    return np.where(worst < 0, np.nan, worst)
