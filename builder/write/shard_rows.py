"""Turns what is known of joined values into rows: how each lies over the ranks, and what they hold.

Every joined value has its layout. What its ranks hold is stored only where somebody will look:
values that differ, whose replicas differ, or whose node has a finding.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from math import isnan

from builder.dump.statistic_cells import number_of
from builder.match.value_pairing import SURPLUS, ValuePairs
from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.checks.guilt import guilty_ranks
from builder.ranks.joining.layouts import AXIS_NAMES, Candidate
from builder.work.merged import MergedMatch
from builder.work.pair import PairResult

Row = tuple[object, ...]
Indices = tuple[int, int]


def layout_rows(merged: MergedMatch, pairs: dict[int, int], bases: Indices) -> Iterator[Row]:
    """Rows of the table `layout`: both sides of every value that was joined.

    `pairs` are the benchmark's values by the problem's, `bases` the first record ids of the sides.
    """
    resolution = merged.resolution
    for ours, reading in resolution.readings.items():
        trust = "told" if ours in resolution.told else "exact"
        trust = "bounded" if ours in resolution.bounded else trust
        trust = "assumed" if ours in resolution.assumed else trust
        yield from _axes(bases[0] + ours, reading.problem, trust)
        theirs = pairs.get(ours)
        if theirs is not None:
            yield from _axes(bases[1] + theirs, reading.benchmark, trust)


def shard_rows(
    result: PairResult,
    merged: MergedMatch,
    pairs: dict[int, int],
    bases: Indices,
    threshold: float,
) -> Iterator[Row]:
    """Rows of the table `shard`, by the order of the problem's values."""
    comparison = result.pair.comparison
    assert comparison is not None
    conflicts = _conflicts(merged)
    of_findings = _of_findings(result)
    differing = set(comparison.pairs.problem[comparison.scores.stated > threshold].tolist())
    suspect = differing & of_findings
    problem, benchmark = _Side(merged.problem, bases[0]), _Side(merged.benchmark, bases[1])
    for ours in sorted((differing | of_findings | set(conflicts)) - {SURPLUS}):
        theirs = pairs.get(ours)
        guilty: tuple[int, ...] = conflicts.get(ours, ())
        if not guilty and ours in suspect and theirs is not None:
            reading = merged.resolution.readings.get(ours)
            axes = () if reading is None else reading.problem.axes
            guilty = guilty_ranks(merged.problem, merged.benchmark, (ours, theirs), axes)
        yield from problem.rows(ours, guilty)
        if theirs is not None:
            yield from benchmark.rows(theirs, ())


def paired(pairs: ValuePairs) -> dict[int, int]:
    """The benchmark's values by the problem's, those without counterpart left out."""
    rows = zip(pairs.problem.tolist(), pairs.benchmark.tolist(), strict=True)
    return {ours: theirs for ours, theirs in rows if SURPLUS not in (ours, theirs)}


def _axes(value: int, candidate: Candidate, trust: str) -> Iterator[Row]:
    for axis in candidate.axes:
        dim = axis.dim if axis.kind == "S" else None
        yield (value, axis.axis, axis.size, axis.kind, dim, trust)


def _conflicts(merged: MergedMatch) -> dict[int, tuple[int, ...]]:
    """The guilty ranks of values whose replicas differ."""
    dump = merged.problem.dump
    ranks_of: dict[int, tuple[int, ...]] = {}
    for conflict in merged.resolution.conflicts:
        start, stop = dump.ranges[conflict.entry]
        keys = dump.values.keys[start:stop]
        if conflict.key in keys:
            ranks_of[start + keys.index(conflict.key)] = conflict.ranks
    return ranks_of


def _of_findings(result: PairResult) -> set[int]:
    nodes = [f.node for f in result.walked.findings if f.side == "problem"]
    return {index for node in nodes for index in range(*node.values)}


class _Side:
    """One side's parts as rows."""

    def __init__(self, run: LogicalRun, base: int) -> None:
        self._run, self._base = run, base
        self._names = list(run.dump.ranges)
        self._starts = [start for start, _ in run.dump.ranges.values()]

    def rows(self, index: int, guilty: tuple[int, ...]) -> Iterator[Row]:
        run = self._run
        if len(run.parts[index]) < 2:
            return
        # Of entries that begin at the same value the last one has it, the others have none.
        entry = self._names[bisect_right(self._starts, index) - 1]
        parts = sorted(run.parts[index], key=lambda part: (part.rank, part.at))
        origin = run.origin.get(entry, {})
        spread = [axis for axis in range(len(AXIS_NAMES)) if len({p.at[axis] for p in parts}) > 1]
        for part in parts:
            record = run.records[part.record]
            yield (
                self._base + index,
                part.rank,
                json.dumps({AXIS_NAMES[axis]: part.at[axis] for axis in spread}),
                origin.get(part.rank, entry),
                None if record.shape is None else ",".join(map(str, record.shape)),
                *map(_cell, (record.Max, record.Min, record.Mean, record.Norm)),
                None if record.md5 is None else str(record.md5),
                record.data_name,
                str(run.folders[part.rank].absolute()),
                int(part.rank in guilty),
            )


def _cell(cell: float | bool | str | None) -> float | str | None:
    """A statistic as the table `record` has it: a recorded NaN is text."""
    if cell is None:
        return None
    number = number_of(cell)
    return "nan" if isnan(number) else number
