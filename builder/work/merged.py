"""Compares the ranks of a step as one logical run: reads and matches both, joins their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from builder.compare.precision import working_precision
from builder.compare.score import Tolerance, base_precision, block_depths
from builder.compare.unread import unread_rows
from builder.dump.reader import Dump
from builder.match.layout_calls import mark_layout_calls
from builder.match.nodes import Matching, MatchRules, match_trees
from builder.match.tree import build_tree
from builder.match.value_pairing import SURPLUS, pair_values
from builder.ranks.assembly.assemble import assemble, assemble_like
from builder.ranks.assembly.batches import Fed, OtherRows, Share, fed_to, moved_shares, other_rows
from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.assembly.peers import make_alike, micro_batches_of
from builder.ranks.joining.resolve import Resolution, resolve
from builder.ranks.joining.ties import join_gradients, tied_names
from builder.ranks.joining.tolerances import Roundings, epsilon_of
from builder.ranks.layout.coordinates import (
    RunLayout,
    Sizes,
    layout_of,
    one_replica,
    ordered,
    replica_layout,
)
from builder.ranks.layout.names import Ties
from builder.ranks.layout.schedule import number_micro_batches
from builder.ranks.merge_options import MergeOptions, MicroBatches
from builder.work.memory import json_bytes
from builder.work.options import BuildOptions
from builder.work.plan import PairPlan
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
    other_rows: OtherRows | None = None


def match_merged(
    plan: PairPlan, options: BuildOptions, rules: MatchRules, cores: int = 1
) -> MergedMatch:
    """Read all ranks of a step on both sides, in as many processes as `cores`, and match them.

    Raises DumpError for a rank that cannot be read, InputError for a layout that does not fit.
    """
    assert plan.benchmark is not None
    dumps, merging = _read_sides(plan, cores), options.merging
    ours = _Side(plan.problem, dumps[0], merging.problem, merging)
    theirs = _Side(plan.benchmark, dumps[1], merging.benchmark, merging)
    join = _joins(merging.micro_batches, ours, theirs)
    fed = ours.fed(), theirs.fed()
    moved = moved_shares(*fed)
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
    roundings = _roundings(matching, options.tolerance)
    resolution = resolve(problem, benchmark, pairs, weak, merging.layouts, roundings)
    return MergedMatch(matching, problem, benchmark, resolution, other_rows(*fed))


def _roundings(matching: Matching, tolerance: Tolerance) -> Roundings:
    """How values of both runs are rounded, as the comparison will have it."""
    trees = (matching.problem, matching.benchmark)
    counts = (Counter(r.dtype for r in tree.dump.values.records) for tree in trees)
    ours, theirs = (base_precision(count.items()) for count in counts)
    precision = working_precision(matching, (ours, theirs))
    growth = tolerance.grown(block_depths(matching.problem)).tolist()
    names = (node.name for node in matching.problem.in_order)
    return Roundings(epsilon_of(precision), dict(zip(names, growth, strict=True)), max(growth))


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
        # To experts on a few ranks come the tokens of all replicas at once.
        experts = ours.layout.shares_experts != theirs.layout.shares_experts
        return experts or ours.total != theirs.total or ours.total == 1
    return wanted == "concat"
