"""Compares the values of matched nodes: an error and a score per value, scores per node.

The result is arrays over value pairs and over nodes in execution order; nothing is written here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.compare.attributes import NOTHING, differing_attributes
from builder.compare.columns import Columns, columns_of
from builder.compare.forgiveness import Judged, LetPassBy, Measured, judged, not_judged
from builder.compare.modes import Mode, mode_of
from builder.compare.pair_forms import PairForms
from builder.compare.precision import working_precision
from builder.compare.rounding import NOTHING_MOVED, MovedTokens
from builder.compare.row_measures import PairedRows, RowMeasures, measure_rows
from builder.compare.row_tolerances import tolerances_of
from builder.compare.score import Tolerance, base_precision, block_depths
from builder.compare.sketches import Estimates
from builder.compare.statistics import Floats, Statistics, norm_relative_error
from builder.compare.tensors import TensorMeasures
from builder.compare.unread import rows_of_another_meaning, unread_rows
from builder.dump.forms import Forms
from builder.dump.reader import Dump
from builder.dump.values import Record
from builder.match.nodes import Matching
from builder.match.value_pairing import SURPLUS, ValuePairs, pair_values


@dataclass(frozen=True, slots=True)
class Setting:
    """What a comparison takes from the whole run when it looks at a part of it.

    `precision` is the working precision of problem and benchmark, `depth` the blocks passed per
    node.
    """

    precision: tuple[str, str]
    depth: Floats


@dataclass(frozen=True, slots=True)
class RowScores:
    """How far each row is apart, and what that counts for.

    `error` is what was measured, `limit` its tolerance, `judged` the error as it counts (what
    `let_pass` names is set to the tolerance), `stated` the score that people are told.
    """

    error: Floats
    judged: Floats
    let_pass: dict[int, LetPassBy]
    limit: Floats
    score: Floats
    stated: Floats


@dataclass(frozen=True, slots=True)
class RowDistances:
    """What else is known of how far each row is apart.

    `norm_error` is that of the norms, `distance` in L2 (the least that is known; NaN where nothing
    is), `spacing` that of its formats' numbers near zero; `unseen` tells where sketches differ and
    all four statistics agree.
    """

    norm_error: Floats
    distance: Floats
    spacing: Floats
    unseen: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ElementMeasures:
    """What is known of elements: by row, of tensor files; from sketches, None without any.

    `unreadable` says by row why a file is not read.
    """

    tensors: dict[int, TensorMeasures]
    estimates: Estimates | None
    unreadable: dict[int, str]


@dataclass(frozen=True, slots=True)
class BlankRows:
    """The rows that have no error, by the reason.

    `unwritten` are of memory that nobody had written, `fused` of values that a compiler kept out of
    memory, `unread` of inputs that their call does not read, `incomparable` mean another thing in
    the other framework; of `unrecorded` tensors one run alone has numbers.
    """

    unwritten: list[int]
    fused: list[int]
    unread: list[int]
    incomparable: list[int]
    unrecorded: list[int]


@dataclass(frozen=True, slots=True)
class NodeScores:
    """The worst scores of the problem's nodes in execution order: of outputs, of inputs, as stated.

    NaN where a node has no values.
    """

    outputs: Floats
    inputs: Floats
    stated: Floats


@dataclass(slots=True)
class Comparison:
    """All that was measured on one matched pair of trees.

    By row of `pairs`: `records` and `statistics` of both sides, `keys`, `is_output`, and in
    `differs` what differs besides the numbers, where there is something to say. `columns` holds
    what is known of each side's values in their own order, `forms` what their form numbers mean.
    """

    mode: Mode
    matching: Matching
    setting: Setting
    pairs: ValuePairs
    records: tuple[list[Record], list[Record]]
    statistics: tuple[Statistics, Statistics]
    keys: list[str]
    is_output: NDArray[np.bool_]
    differs: dict[int, list[str]]
    forms: Forms
    columns: tuple[Columns, Columns]
    scores: RowScores
    distances: RowDistances
    elements: ElementMeasures
    blank: BlankRows
    nodes: NodeScores

    def is_surplus(self, row: int) -> bool:
        """Whether the row's value exists on one side only."""
        return SURPLUS in (self.pairs.problem[row], self.pairs.benchmark[row])

    def surplus_rows(self) -> list[int]:
        """The rows of values that exist on one side only."""
        lone = (self.pairs.problem == SURPLUS) | (self.pairs.benchmark == SURPLUS)
        return list(np.flatnonzero(lone).tolist())


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
    nodes, is_output = pairs.node, pair_forms.are_outputs(forms)
    rows = PairedRows(
        (problem, benchmark), columns, pairs, forms, pair_forms, (ours, theirs), (left, right)
    )
    measured = measure_rows(mode, rows, cores)
    error = _without_other_kernels(measured.error, matching, nodes, is_output, (ours, theirs))
    error = _with_worst_tokens(error, matching, pairs)
    unwritten, fused = _not_in_memory(ours, theirs)
    unread = unread_rows(matching, pairs)
    incomparable = rows_of_another_meaning(matching, nodes, is_output)
    blank = unwritten + fused + unread + incomparable
    error[blank] = np.nan
    norm_error = norm_relative_error(left, right)
    norm_error[incomparable] = np.nan
    allowed = tolerances_of(
        pair_forms, setting.depth[nodes], setting.precision, tolerance, (left, right)
    )
    counted = not_judged(error, allowed.limit)
    if mode != "md5":
        shapes = [record.shape for record in theirs]
        known = Measured(
            error, allowed, measured.distance, measured.norm, is_output, nodes, right, shapes
        )
        counted = judged(known, matching, moved)
    unseen = _unseen(measured, counted.error, allowed.limit)
    return Comparison(
        mode=mode,
        matching=matching,
        setting=setting,
        pairs=pairs,
        records=(ours, theirs),
        statistics=(left, right),
        keys=_keys(matching, pairs),
        is_output=is_output,
        differs=_differences(pair_forms, blank, matching.across_frameworks),
        forms=forms,
        columns=columns,
        scores=RowScores(
            error, counted.error, counted.let_pass, allowed.limit, counted.score, counted.stated
        ),
        distances=RowDistances(norm_error, measured.distance, allowed.spacing, unseen),
        elements=ElementMeasures(measured.tensors, measured.estimates, measured.unreadable),
        blank=BlankRows(
            unwritten,
            fused,
            unread,
            incomparable,
            _unrecorded(error, (left, right), pair_forms, blank),
        ),
        nodes=_node_scores(matching, nodes, is_output, counted),
    )


def _node_scores(
    matching: Matching, nodes: NDArray[np.int64], is_output: NDArray[np.bool_], counted: Judged
) -> NodeScores:
    count = len(matching.problem.in_order)
    return NodeScores(
        outputs=_worst_by_node(counted.score, nodes, is_output, count),
        inputs=_worst_by_node(counted.score, nodes, ~is_output, count),
        stated=_worst_by_node(counted.stated, nodes, is_output, count),
    )


def _with_worst_tokens(error: Floats, matching: Matching, pairs: ValuePairs) -> Floats:
    """The errors, of aligned values no less than that of the token that is the furthest apart.

    One request that goes wrong is one in hundreds: over all tokens together it would be rounding.
    """
    if matching.token_errors is None:
        return error
    worst = np.full(len(matching.problem.dump.values.records) + 1, np.nan)
    for index, errors in matching.token_errors.errors.items():
        known = errors[~np.isnan(errors)]
        worst[index] = known.max() if known.size else np.nan
    return np.asarray(np.fmax(error, worst[pairs.problem]))


def _not_in_memory(ours: list[Record], theirs: list[Record]) -> tuple[list[int], list[int]]:
    """The rows of values that nobody had written, and of those that a compiler fused away."""
    pairs = list(zip(ours, theirs, strict=True))
    unwritten = [row for row, (p, b) in enumerate(pairs) if p.unwritten or b.unwritten]
    return unwritten, [row for row, (p, b) in enumerate(pairs) if p.fused or b.fused]


def _unrecorded(
    error: Floats,
    statistics: tuple[Statistics, Statistics],
    pair_forms: PairForms,
    blank: list[int],
) -> list[int]:
    """The rows of tensors of both runs of which one alone has numbers."""
    ours, theirs = (side.recorded.any(axis=0) for side in statistics)
    lone = (ours != theirs) & np.isnan(error) & (pair_forms.spread(_both_are_tensors) > 0)
    lone[blank] = False
    return list(np.flatnonzero(lone).tolist())


def _both_are_tensors(p: Record, b: Record) -> float:
    return float(p.dtype is not None and b.dtype is not None)


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


def _unseen(measured: RowMeasures, error: Floats, limit: Floats) -> NDArray[np.bool_]:
    estimates = measured.estimates
    if estimates is None:
        return np.zeros(len(error), dtype=bool)
    return (measured.by_statistics <= limit) & (estimates.error > limit) & (error > limit)


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


def _worst_by_node(
    score: Floats, nodes: NDArray[np.int64], chosen: NDArray[np.bool_], count: int
) -> Floats:
    usable = chosen & ~np.isnan(score)
    worst = np.full(count, -1.0)
    np.maximum.at(worst, nodes[usable], score[usable])
    return np.where(worst < 0, np.nan, worst)
