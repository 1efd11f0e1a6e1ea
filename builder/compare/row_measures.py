"""What the two sides of each row measure: their error, and how far apart they are.

By the finest of what both have: the elements of tensor files, checksums, sketches, statistics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from builder.compare.attributes import has_own_error, own_error
from builder.compare.columns import Columns
from builder.compare.dumped_tensors import measure_files
from builder.compare.infinite_marks import marks_apart
from builder.compare.mask_constants import hold_masks
from builder.compare.modes import Mode
from builder.compare.pair_forms import PairForms
from builder.compare.rounding import statistical_distance
from builder.compare.sketches import Estimates, estimate
from builder.compare.statistics import Floats, Statistics, relative_error
from builder.compare.tensors import TensorMeasures
from builder.compare.wide_integers import wide_distances
from builder.dump.forms import Forms
from builder.dump.reader import Dump
from builder.dump.values import Record
from builder.match.value_pairing import ValuePairs
from msprobe_core.format import SKETCH_VERSION


@dataclass(frozen=True, slots=True)
class RowMeasures:
    """What was measured of each row; NaN where the sides have no measure in common.

    `by_statistics` is the error that statistics alone tell, `error` the relative error of the
    finest measure, `distance` the L2 norm of the difference, `norm` that of the larger side.
    `tensors` and `unreadable` are by row, of tensor files; `estimates` are None without sketches.
    """

    by_statistics: Floats
    error: Floats
    distance: Floats
    norm: Floats
    estimates: Estimates | None
    tensors: dict[int, TensorMeasures]
    unreadable: dict[int, str]


@dataclass(frozen=True, slots=True)
class PairedRows:
    """The value pairs of two dumps, problem first: what is known of each row before it is measured.

    `records` and `statistics` are by row, `columns` by the values of each side, whose form numbers
    mean `forms`; `kinds` groups the rows by the forms of both sides.
    """

    dumps: tuple[Dump, Dump]
    columns: tuple[Columns, Columns]
    pairs: ValuePairs
    forms: Forms
    kinds: PairForms
    records: tuple[list[Record], list[Record]]
    statistics: tuple[Statistics, Statistics]


def measure_rows(mode: Mode, rows: PairedRows, cores: int) -> RowMeasures:
    """Measure all rows; `cores` read tensor files."""
    left, right = rows.statistics
    tensors, unreadable = _measure_tensors(mode, rows.dumps, rows.records, cores)
    estimates = _estimates(rows)
    by_statistics = relative_error(left, right)
    distance = _distances(left, right, estimates, tensors)
    wide = wide_distances(rows.records, rows.statistics)
    if wide is not None:
        by_statistics = np.fmax(by_statistics, wide / np.fmax(*np.abs(right.table[:2])))
        distance = np.fmax(distance, wide)
    norm = _norms(left, right, estimates, tensors)
    marks = marks_apart(rows.records, rows.statistics)
    if marks is not None:
        apart, marked = marks
        with np.errstate(invalid="ignore"):
            by_statistics = np.fmax(by_statistics, apart / marked)
        distance, norm = np.fmax(distance, apart), np.where(apart > 0, marked, norm)
    error = _errors(mode, rows, by_statistics, estimates, tensors)
    return RowMeasures(by_statistics, error, distance, norm, estimates, tensors, unreadable)


def _errors(
    mode: Mode,
    rows: PairedRows,
    error: Floats,
    estimates: Estimates | None,
    tensors: dict[int, TensorMeasures],
) -> Floats:
    if estimates is not None:
        error = np.fmax(error, estimates.error)
    if mode == "md5":
        by_checksum = _checksum_errors(*rows.records)
        error = np.where(np.isnan(by_checksum), error, by_checksum)
    for row, measures in tensors.items():
        error[row] = measures.relative_error
    return np.where(rows.kinds.spread(has_own_error), rows.kinds.spread(own_error), error)


def _estimates(rows: PairedRows) -> Estimates | None:
    """What the sketches tell, where both sides have them and in the version that is known here."""
    columns, pairs = rows.columns, rows.pairs
    versions = {dump.sketch_version for dump in rows.dumps}
    if versions != {SKETCH_VERSION} or any(side.sketches is None for side in columns):
        return None
    ours = columns[0].take_sketches(pairs.problem)
    theirs = columns[1].take_sketches(pairs.benchmark)
    kinds = np.array([form.is_integer for form in rows.forms.listed()], dtype=bool)
    integer = np.append(kinds[columns[0].forms], False)[pairs.problem]
    return estimate(ours, theirs, rows.statistics, integer)


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


def _norms(
    left: Statistics,
    right: Statistics,
    estimates: Estimates | None,
    tensors: dict[int, TensorMeasures],
) -> Floats:
    """The larger norm of each pair; of sums over ranks, which have none, that of their elements or
    of their sketches.
    """
    norm = np.fmax(left.table[3], right.table[3])
    if estimates is not None:
        with np.errstate(all="ignore"):
            estimated = estimates.distance / estimates.error
        norm = np.where(np.isnan(norm), estimated, norm)
    for row in np.flatnonzero(np.isnan(norm)).tolist():
        measures = tensors.get(row)
        if measures is not None and measures.relative_error > 0:
            norm[row] = measures.euc_dist / measures.relative_error
    return np.asarray(norm)


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
