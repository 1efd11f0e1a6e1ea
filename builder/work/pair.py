"""The work on one (step, rank): read both sides, match, measure, judge and diagnose them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from builder.compare.comparison import Comparison, compare
from builder.compare.modes import mode_of
from builder.compare.rounding import MovedTokens
from builder.diagnosis.blame import Walked, flows_of, walk, walk_by_scores
from builder.diagnosis.by_interfaces import walk_by_interfaces
from builder.diagnosis.calls_of_line import say_whole_line
from builder.diagnosis.choice_margins import ChoiceMargin, choice_margins, say_amplified
from builder.diagnosis.first_tokens import say_first_tokens
from builder.diagnosis.framework_defaults import name_defaults
from builder.diagnosis.named_arguments import name_arguments
from builder.diagnosis.tied_parameters import say_tied
from builder.diagnosis.updated_alone import say_late, say_updated_alone
from builder.dump.matrices import Matrices, multiply
from builder.dump.reader import Dump, read_dump
from builder.errors import InputError
from builder.flow.feeding import Flow
from builder.judge.acc_check import Checks, judge_checked
from builder.judge.extensions import Extension, apply_extensions
from builder.judge.overflow import overflow_levels
from builder.judge.verdict import Judgement, judge
from builder.match.frameworks.alike import comparable_parts
from builder.match.frameworks.recomputation import without_wrappers
from builder.match.implementations.matching import (
    Correspondence,
    are_unlike_calls,
    match_implementations,
)
from builder.match.implementations.weight_pairs import WeightPair
from builder.match.nodes import Matching, MatchRules, match_trees
from builder.match.passing_places import place_passing
from builder.match.places import give_places
from builder.match.rollout_dumps import make_alike
from builder.match.rollout_mapping import Backend, rollout_mapping
from builder.match.sequences.forwards import passes_of
from builder.match.sequences.token_matching import AlignedRuns, match_tokens
from builder.match.shared_calls import are_versions, shared_by_name
from builder.match.tree import Tree, build_tree
from builder.ranks.joining.resolution import Resolution
from builder.reasons import Reason, TokensAligned, TwoImplementations
from builder.work.layout_findings import with_layout_findings
from builder.work.merge_plan import weights_in_shares
from builder.work.merged import MergedMatch, match_merged
from builder.work.options import BuildOptions
from builder.work.pair_kind import kind_of
from builder.work.phases import enter
from builder.work.plan import PairPlan


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """One pair as measured; `comparison`, `benchmark` and `flows` are None for a single graph.

    `overflow` holds the levels of problem and benchmark, empty where they were not asked for;
    `notes` are what could not be done as the user wanted.
    """

    plan: PairPlan
    problem: Tree
    benchmark: Tree | None = None
    comparison: Comparison | None = None
    overflow: tuple[list[str | None], list[str | None]] = ([], [])
    merged: MergedMatch | None = None
    notes: tuple[str, ...] = ()
    flows: tuple[Flow, Flow] | None = None
    unlike_programs: TwoImplementations | None = None
    tokens: TokensAligned | None = None
    weights: Sequence[WeightPair] = ()
    kind: Reason | None = None

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
    checks: Checks | None = None  # verdicts of the pre-check, for a single graph
    cores: int = 1  # for one pair
    several_steps: bool = True  # are compared, or may be
    backend: Backend | None = None  # of the training run that is compared with an inference run
    matrices: Matrices | None = None


Compared = Callable[[ComparedPair], None]


def work_on(plan: PairPlan, instructions: Instructions, compared: Compared) -> PairResult:
    """Compare one pair; raises DumpError when a side cannot be read.

    `compared` is called once the pair is measured, before it is judged.
    """
    pair = with_flows(compare_pair(plan, instructions))
    compared(pair)
    if pair.comparison is None:
        checks = instructions.checks
        judged = {} if checks is None else judge_checked(pair.problem, checks)
        return PairResult(pair, judged, Walked([], frozenset(), None))
    enter("diagnosing")
    judgements = judge(pair.comparison)
    if instructions.extensions:
        apply_extensions(pair.comparison, judgements, instructions.extensions)
    walked = diagnosed(pair, instructions.options.threshold)
    return PairResult(pair, judgements, walked)


def diagnosed(pair: ComparedPair, threshold: float) -> Walked:
    """Where it begins; by scores in a merged run, whose joined values no gain was measured on."""
    comparison, merged = pair.comparison, pair.merged
    assert comparison is not None
    margins = choice_margins(comparison)
    if comparison.matching.across_implementations:
        walked = walk_by_interfaces(comparison, threshold, pair.flows, margins)
        say_first_tokens(comparison, walked.findings)
    elif merged is None:
        walked = walk(comparison, threshold, pair.flows)
    else:
        walked = walk_by_scores(comparison, threshold, pair.flows)
    walked = _with_margins(walked, margins)
    findings = say_updated_alone(comparison, say_tied(comparison, walked.findings))
    walked = replace(walked, findings=findings, late=say_late(comparison, walked.late))
    name_defaults(comparison.matching, walked.findings)
    say_whole_line(comparison, walked.findings)
    name_arguments(comparison.matching, walked.findings)
    return walked if merged is None else with_layout_findings(walked, comparison, merged)


def _with_margins(walked: Walked, margins: Sequence[ChoiceMargin]) -> Walked:
    """What was chosen otherwise because the numbers lie nearer than the runs are apart is told."""
    say_amplified(walked.findings, margins)
    inside = tuple(each for each in margins if each.is_inside)
    told = {each.node for each in inside}
    return replace(
        walked,
        amplified=inside,
        ties=tuple(node for node in walked.ties if node not in told),
        untold=tuple(node for node in walked.untold if node not in told),
    )


def with_flows(pair: ComparedPair) -> ComparedPair:
    """The pair, and which output fed which input on either side."""
    if pair.comparison is None:
        return pair
    return replace(pair, flows=flows_of(pair.comparison))


def _compare_merged(plan: PairPlan, instructions: Instructions) -> ComparedPair:
    options, rules = instructions.options, instructions.rules
    assert plan.benchmark is not None
    if rules.weights:
        raise weights_in_shares(plan.problem, plan.benchmark)
    enter("reading")
    cores = instructions.cores
    merged = match_merged(plan, options, rules.at(plan.step, plan.rank), cores)
    problem, benchmark = merged.matching.problem, merged.matching.benchmark
    enter("comparing")
    return ComparedPair(
        plan=plan,
        problem=problem,
        benchmark=benchmark,
        comparison=compare(
            merged.matching,
            options.tolerance,
            cores=cores,
            moved=_moved(merged.resolution),
        ),
        overflow=(overflow_levels(problem), overflow_levels(benchmark)),
        merged=merged,
        kind=kind_of(merged.matching, shared_by_name(merged.matching), None, None, options.same),
    )


def _moved(resolution: Resolution) -> MovedTokens:
    return MovedTokens(resolution.moved_share, resolution.unseen_share, resolution.unordered)


def compare_pair(plan: PairPlan, instructions: Instructions) -> ComparedPair:
    """Read both sides, match and measure them; raises DumpError when one cannot be read."""
    options, rules = instructions.options, instructions.rules
    if plan.is_merged:
        return _compare_merged(plan, instructions)
    enter("reading")
    recorded = without_wrappers(read_dump(plan.problem))
    other = None if plan.benchmark is None else without_wrappers(read_dump(plan.benchmark))
    place_passing(recorded, other)
    give_places(recorded, other)
    problem = build_tree(recorded)
    if other is None:
        return ComparedPair(plan, problem, overflow=(overflow_levels(problem), []))
    place_passing(other, recorded)
    give_places(other, recorded)
    notes: tuple[str, ...] = ()
    levels: list[str | None] | None = None
    if instructions.backend is not None or instructions.matrices is not None:
        levels = overflow_levels(problem)  # of what was recorded
        dump, other, notes = _prepared(problem.dump, other, instructions)
        problem = build_tree(dump)
        if instructions.backend is not None:
            rules = replace(rules, layer_mapping=rollout_mapping(other))
    if problem.dump.framework != other.framework:
        dump, other = comparable_parts(problem.dump, other)
        problem, levels = build_tree(dump), None
    benchmark = build_tree(other)
    enter("matching")
    at = rules.at(plan.step, plan.rank)
    matched = _matched(plan, (problem, benchmark), at, instructions)
    matching = matched.matching
    problem, benchmark = matching.problem, matching.benchmark
    enter("comparing")
    comparison = compare(matching, options.tolerance, cores=instructions.cores)
    ours, theirs = (side.statistics for side in comparison.columns)
    return ComparedPair(
        plan=plan,
        problem=problem,
        benchmark=benchmark,
        comparison=comparison,
        overflow=(
            overflow_levels(problem, ours) if levels is None else levels,
            overflow_levels(benchmark, theirs),
        ),
        notes=notes,
        unlike_programs=matched.unlike_programs,
        tokens=matched.tokens,
        weights=matched.weights,
        kind=kind_of(
            matching, matched.by_name, matched.unlike_programs, matched.tokens, options.same
        ),
    )


@dataclass(frozen=True, slots=True)
class _Matched:
    """Two trees matched, and by what if not by their names."""

    matching: Matching
    unlike_programs: TwoImplementations | None = None
    tokens: TokensAligned | None = None
    weights: Sequence[WeightPair] = ()
    by_name: tuple[float | None, int] = (None, 0)


def _matched(
    plan: PairPlan, trees: tuple[Tree, Tree], rules: MatchRules, instructions: Instructions
) -> _Matched:
    aligned = _aligned(plan, trees, rules, instructions)
    if aligned is not None:
        programs = aligned.correspondence
        return _Matched(programs.matching, programs.said(), aligned.said, programs.weights)
    matching = match_trees(*trees, rules)
    by_name = shared_by_name(matching)
    found = _programs(matching, rules, instructions)
    if found is None:
        return _Matched(matching, by_name=by_name)
    return _Matched(found.matching, found.said(), weights=found.weights, by_name=by_name)


def _aligned(
    plan: PairPlan, pair: tuple[Tree, Tree], rules: MatchRules, instructions: Instructions
) -> AlignedRuns | None:
    """Two runs that computed the same tokens in other forward passes, matched by these."""
    options = instructions.options
    asked = options.same == "tokens"
    if not asked and (options.same is not None or _is_told(options, instructions)):
        return None
    if not all(passes_of([tree]) for tree in pair):
        found = None
    else:
        sides = zip(pair, (plan.problem_beside, plan.benchmark_beside))
        ours, theirs = ([tree, *map(_tree, beside)] for tree, beside in sides)
        found = match_tokens((ours, theirs), rules, asked=asked)
    if found is None and asked:
        raise InputError(
            f"{plan.problem} and {plan.benchmark}: no tokens that both runs computed were found",
            "record both with task tensor, or with rows in the section of statistics",
        )
    return found


def _tree(path: Path) -> Tree:
    return build_tree(without_wrappers(read_dump(path)))


def _programs(
    matching: Matching, rules: MatchRules, instructions: Instructions
) -> Correspondence | None:
    """How two programs of one model correspond, where names say too little or a user says so."""
    options = instructions.options
    if options.same in ("program", "versions") or _is_told(options, instructions):
        return None
    is_asked = options.same is not None or bool(rules.weights)
    if not is_asked and are_versions(matching) and not are_unlike_calls(matching):
        return None
    return match_implementations(matching.problem, matching.benchmark, rules)


def _is_told(options: BuildOptions, instructions: Instructions) -> bool:
    """Whether somebody has said how the two runs correspond."""
    told = (options.layer_mapping, options.cell_mapping, options.data_mapping)
    return (
        options.match_by_position
        or options.fuzzy_match
        or any(told)
        or instructions.backend is not None
        or (bool(instructions.rules.manual) and not _is_of_two_programs(options, instructions))
    )


def _is_of_two_programs(options: BuildOptions, instructions: Instructions) -> bool:
    """Whether somebody has said that the runs are of two programs of one model."""
    return options.same in ("model", "tokens") or bool(instructions.rules.weights)


def _prepared(
    problem: Dump, benchmark: Dump, instructions: Instructions
) -> tuple[Dump, Dump, tuple[str, ...]]:
    """Both dumps as they are to be compared, and what could not be done."""
    notes: list[str] = []
    matrices = instructions.matrices
    if matrices is not None:
        if mode_of(problem, benchmark) != "tensor":
            raise InputError(
                f"{problem.path}: {matrices.path} multiplies tensors, and not both runs have them",
                "record both with task tensor, or leave --config out",
            )
        notes += multiply(problem, matrices.problem, matrices)
        notes += multiply(benchmark, matrices.benchmark, matrices)
    if instructions.backend is not None:
        problem, benchmark = make_alike(problem, benchmark, instructions.backend)
    return problem, benchmark, tuple(notes)
