"""Says how the ranks of two dumps would be merged, without comparing or writing anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from builder.dump.sources import find_sources
from builder.ranks.joining.layouts import AxisLayout
from builder.reasons import sentence
from builder.work.mapping_rules import match_rules
from builder.work.merge_plan import plan_comparison
from builder.work.merged import MergedMatch, match_merged
from builder.work.options import BuildOptions
from builder.work.plan import PairPlan


def describe_merging(
    problem: Path | str, benchmark: Path | str, options: BuildOptions
) -> Iterator[str]:
    """Lines on which folders go together and, of the first step, how many values are joined how.

    Raises InputError and DumpError as a build does.
    """
    plan = plan_comparison(find_sources(Path(problem)), find_sources(Path(benchmark)), options)
    yield from (sentence(reason) for reason in plan.notes)
    for pair in plan.pairs:
        yield _folders(pair, options.merging.replicas == "separate")
    yield from (f"step {m.step} rank {m.rank}: only in the {m.side}" for m in plan.missing)
    yield from (broken.error for broken in plan.broken)
    first = next((pair for pair in plan.pairs if pair.is_merged), None)
    if first is not None:
        yield from _joins(match_merged(first, options, match_rules(options, True)))


def _folders(pair: PairPlan, separate: bool) -> str:
    if not pair.is_merged:
        return f"step {pair.step} rank {pair.rank}: {pair.problem} against {pair.benchmark}"
    ours, theirs = (len(ranks) for ranks in (pair.problem_ranks, pair.benchmark_ranks))
    replica = f" replica {pair.rank}" if separate else ""
    return f"step {pair.step}{replica}: one logical run of {ours} ranks against one of {theirs}"


def _joins(merged: MergedMatch) -> Iterator[str]:
    for side, run in (("problem", merged.problem), ("benchmark", merged.benchmark)):
        joined = "joined" if run.joins_micro_batches else "apart"
        told = f"layout from {run.layout.source}, micro-batches {joined}"
        yield f"{side}: {run.layout} ({told})"
        if len(run.layout.places) > 1:
            yield from (f"   rank {r}: {run.layout.describe(r)}" for r in run.layout.places)
    found = merged.resolution
    yield f"gradients: divided by {found.factor:g} in the problem"
    ways = Counter(
        f"{_lies(reading.problem.axes)} against {_lies(reading.benchmark.axes)}"
        for reading in found.readings.values()
    )
    whole = found.compared - len(found.readings)
    yield f"values: {found.compared} compared, {len(found.assumed)} of them by an assumed layout"
    if whole:
        yield f"{whole:8} whole on one rank of either side"
    yield from (f"{count:8} {way}" for way, count in ways.most_common())
    yield from (f"{n:8} set aside: {reason}" for reason, n in found.set_aside.most_common())


def _lies(axes: Sequence[AxisLayout]) -> str:
    return ", ".join(map(str, axes)) or "whole"
