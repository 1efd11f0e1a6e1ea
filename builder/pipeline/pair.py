"""The work on one (step, rank): read both sides, match, measure, judge and diagnose them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from builder.compare import Comparison, compare
from builder.diagnosis.walk import Walked, walk
from builder.dump.reader import Dump, read_dump
from builder.extensions import Extension, apply_extensions
from builder.match.nodes import MatchRules, match_trees
from builder.options import BuildOptions
from builder.overflow import overflow_levels
from builder.pipeline.plan import PairPlan
from builder.tree import Tree, build_tree
from builder.verdict import Judgement, judge

Compared = Callable[[Sequence[Dump], Comparison | None], None]


@dataclass(slots=True)
class PairResult:
    """What became of one pair; `comparison` and `benchmark` are None for a single graph."""

    plan: PairPlan
    problem: Tree
    benchmark: Tree | None
    comparison: Comparison | None
    judgements: dict[int, Judgement]
    walked: Walked
    overflow: tuple[list[str | None], list[str | None]]


@dataclass(frozen=True, slots=True)
class Instructions:
    """What every pair of a build is worked on with: the options, and their files already read."""

    options: BuildOptions
    rules: MatchRules
    extensions: tuple[Extension, ...] = ()
    cores: int = 1  # for one pair


def work_on(plan: PairPlan, instructions: Instructions, compared: Compared) -> PairResult:
    """Compare one pair; raises DumpError when a side cannot be read.

    `compared` is called with the dumps once their values are compared, before they are judged.
    """
    options, rules = instructions.options, instructions.rules
    problem = build_tree(read_dump(plan.problem))
    if plan.benchmark is None:
        compared([problem.dump], None)
        levels = overflow_levels(problem) if options.overflow_check else []
        nothing = Walked([], frozenset(), None)
        return PairResult(plan, problem, None, None, {}, nothing, (levels, []))
    benchmark = build_tree(read_dump(plan.benchmark))
    manual = [pair for pair in rules.manual if pair.applies_to(plan.step, plan.rank)]
    matching = match_trees(problem, benchmark, replace(rules, manual=manual))
    comparison = compare(matching, options.tolerance, cores=instructions.cores)
    compared([problem.dump, benchmark.dump], comparison)
    judgements = judge(comparison)
    if instructions.extensions:
        apply_extensions(comparison, judgements, instructions.extensions)
    return PairResult(
        plan=plan,
        problem=problem,
        benchmark=benchmark,
        comparison=comparison,
        judgements=judgements,
        walked=walk(comparison, options.threshold),
        overflow=(
            overflow_levels(problem) if options.overflow_check else [],
            overflow_levels(benchmark) if options.overflow_check else [],
        ),
    )
