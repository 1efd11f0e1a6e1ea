"""The work on one (step, rank): read both sides, match, measure, judge and diagnose them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from builder.compare import Comparison, compare
from builder.diagnosis.walk import Walked, walk
from builder.dump.reader import read_dump
from builder.extensions import Extension, apply_extensions
from builder.match.nodes import MatchRules, match_trees
from builder.options import BuildOptions
from builder.overflow import overflow_levels
from builder.pipeline.plan import PairPlan
from builder.tree import Tree, build_tree
from builder.verdict import Judgement, judge


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """One pair as measured; `comparison` and `benchmark` are None for a single graph.

    `overflow` holds the levels of problem and benchmark, empty where they were not asked for.
    """

    plan: PairPlan
    problem: Tree
    benchmark: Tree | None = None
    comparison: Comparison | None = None
    overflow: tuple[list[str | None], list[str | None]] = ([], [])

    @property
    def trees(self) -> list[Tree]:
        """The trees that there are, the problem's first."""
        return [self.problem] if self.benchmark is None else [self.problem, self.benchmark]


@dataclass(frozen=True, slots=True)
class PairResult:
    """What became of one pair."""

    pair: ComparedPair
    judgements: dict[int, Judgement]
    walked: Walked


@dataclass(frozen=True, slots=True)
class Instructions:
    """What every pair of a build is worked on with: the options, and their files already read."""

    options: BuildOptions
    rules: MatchRules
    extensions: tuple[Extension, ...] = ()
    cores: int = 1  # for one pair


Compared = Callable[[ComparedPair], None]


def work_on(plan: PairPlan, instructions: Instructions, compared: Compared) -> PairResult:
    """Compare one pair; raises DumpError when a side cannot be read.

    `compared` is called once the pair is measured, before it is judged.
    """
    pair = _compare(plan, instructions)
    compared(pair)
    if pair.comparison is None:
        return PairResult(pair, {}, Walked([], frozenset(), None))
    judgements = judge(pair.comparison)
    if instructions.extensions:
        apply_extensions(pair.comparison, judgements, instructions.extensions)
    return PairResult(pair, judgements, walk(pair.comparison, instructions.options.threshold))


def _compare(plan: PairPlan, instructions: Instructions) -> ComparedPair:
    options, rules = instructions.options, instructions.rules
    problem = build_tree(read_dump(plan.problem))
    levels = overflow_levels(problem) if options.overflow_check else []
    if plan.benchmark is None:
        return ComparedPair(plan, problem, overflow=(levels, []))
    benchmark = build_tree(read_dump(plan.benchmark))
    manual = [pair for pair in rules.manual if pair.applies_to(plan.step, plan.rank)]
    matching = match_trees(problem, benchmark, replace(rules, manual=manual))
    return ComparedPair(
        plan=plan,
        problem=problem,
        benchmark=benchmark,
        comparison=compare(matching, options.tolerance, cores=instructions.cores),
        overflow=(levels, overflow_levels(benchmark) if options.overflow_check else []),
    )
