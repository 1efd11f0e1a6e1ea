"""Compares the ranks of a step as one logical run: what to merge, and the merged pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from builder.compare.unread import unread_rows
from builder.dump.reader import Dump, Parallel, read_parallel
from builder.dump.sources import Source, SourceSet
from builder.errors import InputError
from builder.match.layout_calls import mark_layout_calls
from builder.match.nodes import Matching, MatchRules, match_trees
from builder.match.tree import build_tree
from builder.match.values import SURPLUS, pair_values
from builder.ranks.assembly.assemble import assemble, assemble_like
from builder.ranks.assembly.batches import Fed, Share, fed_to, moved_shares
from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.assembly.peers import make_alike, micro_batches_of
from builder.ranks.joining.resolve import Resolution, resolve
from builder.ranks.joining.ties import join_gradients, tied_names
from builder.ranks.layout.coordinates import (
    MissingRanksError,
    RunLayout,
    Sizes,
    check_ranks,
    layout_of,
    one_replica,
    ordered,
    replica_layout,
)
from builder.ranks.layout.names import Ties
from builder.ranks.layout.schedule import number_micro_batches
from builder.ranks.options import MergeOptions, MicroBatches
from builder.reasons import Reason
from builder.work.memory import json_bytes
from builder.work.options import BuildOptions
from builder.work.plan import Missing, PairPlan, Plan, plan_pairs
from builder.work.rank_reading import read_ranks

# Less JSON than this is read before another process has started.
_MANY_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class MergedMatch:
    """Two logical runs matched, their values joined."""

    matching: Matching
    problem: LogicalRun
    benchmark: LogicalRun
    resolution: Resolution


def should_merge(problem: SourceSet, benchmark: SourceSet, options: MergeOptions) -> bool:
    """Whether ranks are joined: when a flag asks for it or the sides differ in layout.

    Raises InputError when merging is required and nothing tells the layout.
    """
    if options.merge == "off":
        return False
    if options.replicas == "separate":
        return True
    if options.merge == "require" or options.problem.is_given or options.benchmark.is_given:
        return True
    sides = [_first_step(dump) for dump in (problem, benchmark)]
    if all(len(ranks) == 1 for ranks in sides):
        return False
    headers = [read_parallel(ranks[0].path) for ranks in sides]
    told = [h is not None and bool(h.axes) for h in headers]
    if len(sides[0]) == len(sides[1]):
        return all(told) and _sizes_of(headers[0]) != _sizes_of(headers[1])
    return all(known or len(ranks) == 1 for known, ranks in zip(told, sides, strict=True))


def plan_comparison(problem: SourceSet, benchmark: SourceSet, options: BuildOptions) -> Plan:
    """Which ranks of two dumps are compared with which: of each step all as one run, or in pairs.

    Raises InputError for what cannot be paired or merged; where merging was not asked for and
    ranks are missing, those that are there are compared in pairs, with a note.
    """
    merging = options.merging
    if not should_merge(problem, benchmark, merging):
        plan = plan_pairs(problem, benchmark, options.rank_map, options.step_map)
        return replace(plan, notes=_why_in_pairs(problem, benchmark, merging))
    if options.rank_map:
        raise InputError("--rank-map pairs ranks, which merging joins", "leave one of them out")
    try:
        plan = plan_merged(problem, benchmark, options.step_map, merging)
        return _by_replica(plan, problem, benchmark, merging)
    except MissingRanksError as error:
        if merging.merge == "require":
            raise
        plan = plan_pairs(problem, benchmark, options.rank_map, options.step_map)
        return replace(plan, notes=({"code": "not_merged", "why": error.message},))


def _why_in_pairs(
    problem: SourceSet, benchmark: SourceSet, options: MergeOptions
) -> tuple[Reason, ...]:
    """A note where runs of unlike numbers of ranks are not merged, although nobody said so."""
    if options.merge == "off" or "rank" in (problem.granularity, benchmark.granularity):
        return ()
    ours, theirs = (len(_first_step(found)) for found in (problem, benchmark))
    if ours == theirs:
        return ()
    why = f"{ours} ranks against {theirs}, and not all dumps say where their ranks stand"
    return ({"code": "not_merged", "why": f"{why} (--rank_size, --tp and --pp do)"},)


def plan_merged(
    problem: SourceSet, benchmark: SourceSet, step_map: dict[int, int], options: MergeOptions
) -> Plan:
    """One unit a step: all ranks of it on either side.

    Raises InputError for steps that do not pair, and for sizes that do not fit the ranks.
    """
    if problem.granularity != benchmark.granularity or problem.granularity == "rank":
        raise InputError(
            f"{problem.path} and {benchmark.path}: merging joins all ranks of a step",
            "give two dumps or two of their step<N> folders",
        )
    ours, theirs = _by_step(problem), _by_step(benchmark)
    for dump, sizes in ((problem, options.problem), (benchmark, options.benchmark)):
        for ranks in _by_step(dump).values():
            header = read_parallel(ranks[0].path)
            check_ranks([source.rank for source in ranks], header, sizes, dump.path)
    if problem.granularity == "step":
        ((step, ranks),), ((_, others),) = ours.items(), theirs.items()
        return Plan((_unit(step, ranks, others),), ())
    pairs = [
        _unit(step, ranks, theirs[step_map.get(step, step)])
        for step, ranks in ours.items()
        if step_map.get(step, step) in theirs
    ]
    if not pairs:
        raise InputError(
            f"{problem.path} and {benchmark.path} have no step in common ({sorted(ours)} against "
            f"{sorted(theirs)})",
            "pair them with --step-map",
        )
    used = {step_map.get(step, step) for step in ours}
    missing = [
        Missing(s, r[0].rank, "benchmark", r[0].path) for s, r in theirs.items() if s not in used
    ]
    missing += [
        Missing(s, r[0].rank, "problem", r[0].path)
        for s, r in ours.items()
        if step_map.get(s, s) not in theirs
    ]
    return Plan(tuple(pairs), tuple(missing))


def _by_replica(
    plan: Plan, problem: SourceSet, benchmark: SourceSet, options: MergeOptions
) -> Plan:
    """The plan with a unit for each data-parallel replica, where they are to be kept apart.

    Raises InputError where the runs have unlike numbers of them.
    """
    if options.replicas == "merge":
        return plan
    pairs = []
    for pair in plan.pairs:
        ours = _replicas(pair.problem_ranks, options.problem, problem.path)
        theirs = _replicas(pair.benchmark_ranks, options.benchmark, benchmark.path)
        if len(ours) != len(theirs):
            raise InputError(
                f"--replicas separate: {problem.path} has {len(ours)} data-parallel replicas and "
                f"{benchmark.path} {len(theirs)}",
                "leave it out, then they are joined",
            )
        pairs += [
            replace(_unit(pair.step, *ranks), rank=number)
            for number, ranks in enumerate(zip(ours, theirs, strict=True))
        ]
    return replace(plan, pairs=tuple(pairs))


def _replicas(ranks: Sequence[Source], sizes: Sizes, folder: Path) -> list[list[Source]]:
    """The ranks of each data-parallel replica, in the order of the axis."""
    layout = replica_layout({s.rank: read_parallel(s.path) for s in ranks}, sizes, folder)
    by_place: dict[int, list[Source]] = {}
    for source in ranks:
        by_place.setdefault(layout.places[source.rank].at.get("dp", 0), []).append(source)
    return [by_place[place] for place in sorted(by_place)]


def match_merged(
    plan: PairPlan, options: MergeOptions, rules: MatchRules, cores: int = 1
) -> MergedMatch:
    """Read all ranks of a step on both sides, in as many processes as `cores`, and match them.

    Raises DumpError for a rank that cannot be read, InputError for a layout that does not fit.
    """
    assert plan.benchmark is not None
    dumps = _read_sides(plan, cores)
    ours = _Side(plan.problem, dumps[0], options.problem, options)
    theirs = _Side(plan.benchmark, dumps[1], options.benchmark, options)
    join = _joins(options.micro_batches, ours, theirs)
    moved = moved_shares(ours.fed(), theirs.fed())
    ties = tied_names((ours.dumps, ours.layout), (theirs.dumps, theirs.layout))
    problem = ours.assembled(join, moved, ties)
    alike = not moved and theirs.makes_the_calls_of(ours)
    benchmark = theirs.like(problem) if alike else theirs.assembled(join, {}, ties)
    trees = build_tree(problem.dump), build_tree(benchmark.dump)
    matching = match_trees(*trees, rules)
    weak = mark_layout_calls(matching)
    rows = pair_values(matching)
    is_pair = (rows.problem != SURPLUS) & (rows.benchmark != SURPLUS)
    is_pair[unread_rows(matching, rows)] = False
    pairs = np.stack((rows.problem[is_pair], rows.benchmark[is_pair]), axis=1)
    resolution = resolve(problem, benchmark, pairs, weak, options.layouts)
    return MergedMatch(matching, problem, benchmark, resolution)


def _read_sides(plan: PairPlan, cores: int) -> tuple[dict[int, Dump], dict[int, Dump]]:
    """The dumps of both sides by rank."""
    many = (json_bytes(plan) if plan.json_bytes is None else plan.json_bytes) >= _MANY_BYTES
    dumps = read_ranks(plan.folders, dict(plan.columns), cores if many else 1)
    count = len(plan.problem_ranks)
    sides = (plan.problem_ranks, dumps[:count]), (plan.benchmark_ranks, dumps[count:])
    ours, theirs = (
        {source.rank: dump for source, dump in zip(ranks, own, strict=True)} for ranks, own in sides
    )
    return ours, theirs


class _Side:
    """The ranks of one side, read."""

    def __init__(
        self, folder: Path, dumps: dict[int, Dump], sizes: Sizes, options: MergeOptions
    ) -> None:
        self.dumps = dumps
        if options.replicas == "separate":
            headers = {rank: dump.parallel for rank, dump in dumps.items()}
            layout = one_replica(replica_layout(headers, sizes, folder), dumps)
        else:
            layout = layout_of(dumps, sizes, folder)
        self.layout: RunLayout = ordered(layout, options.cp_order, folder)
        number_micro_batches(self.dumps, self.layout)
        self.micro_batches = micro_batches_of(self.dumps, self.layout)

    @property
    def total(self) -> int:
        """The micro-batches of a step over all replicas."""
        return self.micro_batches * self.layout.size("dp")

    def fed(self) -> Fed:
        return fed_to(self.dumps, self.layout, self.micro_batches)

    def makes_the_calls_of(self, other: _Side) -> bool:
        """Whether another side's ranks make the same calls, and stand where these do."""
        places = self.layout == other.layout and self.micro_batches == other.micro_batches
        return places and make_alike(self.dumps, other.dumps)

    def like(self, other: LogicalRun) -> LogicalRun:
        """The run, where its ranks make the same calls as another's."""
        return assemble_like(other, self.dumps)

    def assembled(self, join: bool, moved: Mapping[Share, Share], ties: Ties) -> LogicalRun:
        run = assemble(self.dumps, self.layout, self.micro_batches, join, moved, ties)
        join_gradients(run, ties)
        return run


def _joins(wanted: MicroBatches, ours: _Side, theirs: _Side) -> bool:
    if wanted == "auto":
        return ours.total != theirs.total or ours.total == 1
    return wanted == "concat"


def _unit(step: int, ours: Sequence[Source], theirs: Sequence[Source]) -> PairPlan:
    return PairPlan(step, 0, ours[0].path, theirs[0].path, tuple(ours), tuple(theirs))


def _by_step(dump: SourceSet) -> dict[int, list[Source]]:
    steps: dict[int, list[Source]] = {}
    for source in dump.sources:
        if source.rank >= 0:  # helpers of a run have negative numbers
            steps.setdefault(source.step, []).append(source)
    return steps


def _first_step(dump: SourceSet) -> list[Source]:
    steps = _by_step(dump)
    return steps[min(steps)]


def _sizes_of(header: Parallel | None) -> dict[str, int]:
    return {} if header is None else {name: axis.size for name, axis in header.axes.items()}
