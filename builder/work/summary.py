"""Sums up what became of one pair for the whole build, with numbers in place of its nodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol, TypedDict

import numpy as np

from builder.claim import Counted
from builder.compare.comparison import Comparison, NodeScores
from builder.compare.modes import Unlike, mode_of, unlike
from builder.compare.score import THRESHOLD
from builder.diagnosis.causes import source_line
from builder.diagnosis.change_kinds import Sighting, kinds_of
from builder.diagnosis.choice_margins import ChoiceMargin
from builder.diagnosis.communication import Message, messages
from builder.diagnosis.end_results import EndsApart, ends_apart
from builder.diagnosis.finding import Finding
from builder.diagnosis.lone_lines import LoneLines
from builder.finding_certainty import basis_of
from builder.flow.weights import (
    WeightPrints,
    Weights,
    prints_of,
    weights_of_dump,
    weights_of_run,
)
from builder.judge.verdict import Judgement
from builder.match.frameworks.words import unfit_rules
from builder.match.implementations.weight_pairs import WeightPair
from builder.match.nodes import Matching, MatchRules
from builder.match.tree import Tree, TreeNode
from builder.match.value_pairing import named_values
from builder.reasons import (
    Amplifies,
    AttributeDiffers,
    MergedByName,
    TwoFrameworks,
    UnknownKind,
    UnlikeAttributes,
    UnlikeNames,
)
from builder.work.evidence import pair_evidence
from builder.work.merged import MergedMatch
from builder.work.outcome import PairOutcome, Reader, RuleState, StoredFinding, StoredSighting
from builder.work.pair import ComparedPair, Instructions, PairResult
from builder.work.stored_gradients import stored_gradients
from builder.work.updates_apart import updates_apart
from msprobe_core.format import COMMUNICATION, framework_named


class Numbered(Protocol):
    """One tree whose graph and nodes have numbers that no other tree's have."""

    @property
    def tree(self) -> Tree:
        """The tree."""

    @property
    def graph(self) -> int:
        """The number of the tree itself."""

    def id_of(self, node: TreeNode) -> int:
        """The number of a node."""


def outcome_of(
    result: PairResult,
    problem: Numbered,
    benchmark: Numbered | None,
    instructions: Instructions,
) -> PairOutcome:
    """The outcome of a pair that was worked on; `benchmark` is None for a single graph."""
    plan, comparison, rules = result.pair.plan, result.pair.comparison, instructions.rules
    if comparison is None or benchmark is None:
        dump = problem.tree.dump
        return PairOutcome(
            plan.step,
            plan.rank,
            mode=mode_of(dump, dump),
            graphs=(problem.graph,),
            messages=(_messages(problem),),
        )
    matched = len(comparison.matching.partner) // 2 - 1
    late, merged = result.walked.late, result.pair.merged
    apart = unlike(problem.tree.dump, benchmark.tree.dump)
    nodes = problem.tree.in_order
    rated = (order for order, each in result.judgements.items() if _differs_in_form(each))
    wrong = sorted(
        n
        for n in rated
        if not _is_of_other_kernel(nodes[n], comparison.matching, result.judgements[n])
    )
    told_otherwise = comparison.setting.precision[0] != comparison.setting.precision[1] or bool(
        result.walked.ties or result.walked.amplified
    )
    first = nodes[wrong[0]].name if wrong else ""
    rated_error = Counted("rated", 0 if told_otherwise else len(wrong), first)
    is_parallel = _are_parallel(merged, problem, benchmark)
    ends = _ends(result.pair)
    sides, lines = (problem, benchmark), LoneLines(comparison.matching)
    apart_ends = _told_ends(ends, instructions.options.threshold)
    return PairOutcome(
        step=plan.step,
        rank=plan.rank,
        mode=comparison.mode,
        matched=matched,
        unmatched_problem=len(problem.tree.in_order) - 1 - matched,
        unmatched_benchmark=len(benchmark.tree.in_order) - 1 - matched,
        compared=0 if _is_incomparable(apart) else int((~np.isnan(comparison.scores.score)).sum()),
        precision=comparison.setting.precision,
        errors=len(wrong),
        first_error=nodes[wrong[0]].name if wrong else None,
        unlike=apart,
        frameworks=_two_frameworks(comparison.matching),
        unlike_programs=result.pair.unlike_programs,
        tokens=result.pair.tokens,
        kind=result.pair.kind,
        by_name=_by_name_alone(result.pair),
        unfit=unfit_rules(problem.tree, benchmark.tree, rules.calls),
        broken=_broken_files(comparison),
        ties=tuple(node.name for node in result.walked.ties),
        untold=tuple(node.name for node in result.walked.untold),
        amplified=tuple(map(_amplifies, result.walked.amplified)),
        unjudged=tuple(node.name for node in result.walked.unjudged),
        gradients_agree=_gradients_agree(comparison, is_parallel=is_parallel),
        updates_apart=updates_apart(comparison) if instructions.several_steps else None,
        rules=_rule_states(rules),
        manual=_manual_states(result.pair, rules),
        weights_by_hand=_weight_states(result.pair, rules),
        named=named_values(comparison.matching),
        findings=tuple(_stored(f, result, sides, lines) for f in result.walked.findings),
        sightings=tuple(
            _sighted(one, problem if one.side == "problem" else benchmark)
            for one in result.walked.sightings
        ),
        heals=result.walked.heals,
        ends=ends,
        late=_stored(late, result, sides, lines) if late is not None else None,
        tolerated=result.walked.tolerated,
        handed=result.walked.handed if instructions.several_steps else frozenset(),
        graphs=(problem.graph, benchmark.graph),
        messages=() if plan.is_merged else _both_messages(problem, benchmark, comparison.nodes),
        evidence=pair_evidence(
            comparison,
            (plan.step, plan.rank),
            instructions.options.threshold,
            (rated_error, apart_ends),
            () if merged is None else merged.resolution.without_numbers,
        ),
        gradients=stored_gradients(comparison, problem.id_of),
        **(_handed_weights(result.pair, problem) if instructions.several_steps else {}),
        **_merged_facts(merged),
    )


def _by_name_alone(pair: ComparedPair) -> MergedByName | None:
    """That joined ranks may be of two programs, which only names pair."""
    kind = pair.kind
    if pair.merged is None or not isinstance(kind, UnknownKind) or kind.shared is None:
        return None
    return MergedByName(kind.shared)


def _amplifies(each: ChoiceMargin) -> Amplifies:
    return Amplifies(each.node.name, each.margin, each.apart, each.rows, each.of, count=1)


def _told_ends(ends: EndsApart, threshold: float) -> Counted:
    """The end results that differ by more than rounding: by so much that they diverge, or not."""
    if not ends.count:
        return Counted("ends", 0)
    worst = ends.worst[0]
    code = "ends" if worst.score > threshold else "ends_close"
    return Counted(code, ends.count, f"{worst.value} of {worst.name}")


def _ends(pair: ComparedPair) -> EndsApart:
    if pair.comparison is None or pair.flows is None:
        return EndsApart()
    return ends_apart(pair.comparison, pair.flows[0])


class _HandedWeights(TypedDict, total=False):
    readers: tuple[Reader, ...]
    weights: tuple[WeightPrints, ...]


def _handed_weights(pair: ComparedPair, problem: Numbered) -> _HandedWeights:
    """The weights of both sides by the problem's nodes that read them; nothing without updates."""
    comparison, rank = pair.comparison, pair.plan.rank
    assert comparison is not None
    matching = comparison.matching
    if pair.merged is not None:
        sides = [weights_of_run(run) for run in (pair.merged.problem, pair.merged.benchmark)]
    else:
        sides = [weights_of_dump(t.dump, rank) for t in (matching.problem, matching.benchmark)]
    if not all(sides):
        return {}
    nodes = [matching.problem.by_name.get(name) for name in _reader_names(sides[0])]
    listed = [node for node in nodes if node is not None]
    at = {node: place for place, node in enumerate(listed)}
    scores = np.nan_to_num(comparison.nodes.outputs).tolist()
    ours = {node.name: place for node, place in at.items()}
    theirs = {
        other.name: at[node] for node in listed if (other := matching.partner.get(node)) is not None
    }
    return {
        "readers": tuple(
            Reader(problem.id_of(n), n.name, n.in_step, scores[n.exec_order]) for n in listed
        ),
        "weights": (prints_of(sides[0], ours), prints_of(sides[1], theirs)),
    }


def _reader_names(weights: Weights) -> list[str]:
    return list(dict.fromkeys(weight.reader for weight in weights.values()))


def _broken_files(comparison: Comparison) -> tuple[str, ...]:
    """The names of files of values that could not be read, each once."""
    trees = (comparison.matching.problem, comparison.matching.benchmark)
    found = [name for tree in trees for name in tree.dump.broken]
    told = (text.partition(": ")[0] for text in comparison.elements.unreadable.values())
    return tuple(dict.fromkeys([*found, *(Path(file).name for file in told)]))


def _two_frameworks(matching: Matching) -> TwoFrameworks | None:
    if not matching.across_frameworks:
        return None
    trees = (matching.problem, matching.benchmark)
    return TwoFrameworks(*(framework_named(tree.dump.framework).display for tree in trees))


def _differs_in_form(judgement: Judgement) -> bool:
    """Whether a node is rated error for what is no number: format, shape, an argument."""
    differs = any(isinstance(reason, AttributeDiffers) for reason in judgement.reasons)
    return judgement.verdict == "error" and differs


def _is_of_other_kernel(node: TreeNode, matching: Matching, judgement: Judgement) -> bool:
    """Whether a call of the backward pass hands on other gradients, and does nothing else.

    They are of whatever the forward kernel ended with: on another kernel, of something else. Their
    shapes tell it, or how many there are; in another format alone they are another result.
    """
    if node.kind != "api" or node.direction != "backward":
        return False
    partner = matching.partner.get(node)
    is_as_many = partner is not None and len(range(*node.values)) == len(range(*partner.values))
    told = [r for r in judgement.reasons if isinstance(r, AttributeDiffers)]
    return all(
        r.value.startswith("output.") and (r.attribute == "shape" or not is_as_many) for r in told
    )


def _is_incomparable(apart: Unlike | None) -> bool:
    """Whether the dumps have no measure of a tensor in common; arguments alone say too little."""
    return isinstance(apart, UnlikeAttributes | UnlikeNames)


class _MergedFacts(TypedDict, total=False):
    layouts: tuple[str, str]
    values: dict[str, int]
    set_aside: dict[str, int]
    coordinates: dict[int, str]


def _merged_facts(merged: MergedMatch | None) -> _MergedFacts:
    if merged is None:
        return {}
    resolution, layout = merged.resolution, merged.problem.layout
    return {
        "layouts": (str(merged.problem.layout), str(merged.benchmark.layout)),
        "values": {
            "compared": resolution.compared,
            "bounded": len(resolution.bounded),
            "assumed": len(resolution.assumed),
            "told": len(resolution.told),
        },
        "set_aside": dict(resolution.set_aside),
        "coordinates": {rank: layout.describe(rank) for rank in sorted(layout.places)},
    }


def _messages(side: Numbered) -> tuple[Message, ...]:
    return tuple(messages(side.tree, side.id_of))


def _both_messages(
    problem: Numbered, benchmark: Numbered, scores: NodeScores
) -> tuple[tuple[Message, ...], ...]:
    """The messages of both runs; those of the problem's say whether they are fed something else."""
    order = {problem.id_of(n): n.exec_order for n in problem.tree.in_order if _communicates(n)}
    differs = scores.inputs > THRESHOLD
    ours = [replace(m, differs=bool(differs[order[m.node]])) for m in _messages(problem)]
    return tuple(ours), _messages(benchmark)


def _communicates(node: TreeNode) -> bool:
    return node.entry is not None and node.entry.prefix in COMMUNICATION


def _rule_states(rules: MatchRules) -> tuple[RuleState, ...]:
    mapping = rules.layer_mapping
    if mapping is None:
        return ()
    return tuple(RuleState(rule.used, rule.reached) for rule in mapping.rules)


def _manual_states(pair: ComparedPair, rules: MatchRules) -> tuple[bool, ...]:
    assert pair.benchmark is not None
    return tuple(
        mapped.applies_to(pair.plan.step, pair.plan.rank)
        and mapped.problem in pair.problem.by_name
        and mapped.benchmark in pair.benchmark.by_name
        for mapped in rules.manual
    )


def _weight_states(pair: ComparedPair, rules: MatchRules) -> tuple[bool, ...]:
    by_hand = {_paths(each) for each in pair.weights if each.by_hand}
    return tuple(
        (each.problem, each.benchmark) in by_hand
        and each.applies_to(pair.plan.step, pair.plan.rank)
        for each in rules.weights
    )


def _paths(pair: WeightPair) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(p.path for p in pair.problem), tuple(p.path for p in pair.benchmark)


def _are_parallel(merged: MergedMatch | None, *sides: Numbered) -> bool:
    """Whether either run worked on several processes."""
    if merged is not None:
        return max(len(run.layout.places) for run in (merged.problem, merged.benchmark)) > 1
    headers = [side.tree.dump.parallel for side in sides]
    return any(header is not None and (header.world_size or 1) > 1 for header in headers)


def _gradients_agree(comparison: Comparison, *, is_parallel: bool) -> bool | None:
    """Whether all gradients of a step agree, those that optimizers read among them.

    Ranks reduce between the two: without what optimizers read, gradients of modules tell nothing.
    """
    order = comparison.matching.problem.in_order
    held = [comparison.nodes.outputs[node.exec_order] for node in order if node.holds_gradients]
    read = [
        comparison.scores.score[row]
        for row, node in enumerate(comparison.pairs.node.tolist())
        if order[node].is_update and comparison.keys[row] == "input.gradient"
    ]
    taken = [score for score in read if not np.isnan(score)]
    known = [score for score in held if not np.isnan(score)]
    if not known or (is_parallel and not taken):
        return None
    # Two frameworks never round alike: there it is enough that none diverges.
    allowed = THRESHOLD if comparison.matching.across_frameworks else 0.0
    # Optimizers read what was added up in other orders, which rounds otherwise.
    return bool(max(known) <= allowed and max(taken, default=0.0) <= THRESHOLD)


def _sighted(sighting: Sighting, side: Numbered) -> StoredSighting:
    node = sighting.node
    key = node.in_step
    return StoredSighting(side.graph, side.id_of(node), node.name, key, sighting.kinds)


def _compared_at(
    node: TreeNode, comparison: Comparison | None
) -> Literal["edges", "paired_calls"] | None:
    """Where two programs of one model were compared for a finding; None of one program."""
    if comparison is None or not comparison.matching.across_implementations:
        return None
    return "paired_calls" if node.kind == "api" else "edges"


def _stored(
    finding: Finding, result: PairResult, sides: tuple[Numbered, Numbered], lines: LoneLines
) -> StoredFinding:
    side = sides[finding.side == "benchmark"]
    comparison = result.pair.comparison
    is_guess = comparison is not None and finding.node in comparison.matching.guess
    return StoredFinding(
        step=result.pair.plan.step,
        rank=result.pair.plan.rank,
        graph=side.graph,
        node=side.id_of(finding.node),
        name=finding.node.name,
        kind=finding.kind,
        is_api=finding.node.kind == "api",
        sort_key=finding.sort_key(),
        score=finding.score,
        input_score=finding.input_score,
        introduced=finding.introduced,
        reasons=finding.reasons,
        propagated_to=finding.propagated_to,
        inherits=finding.inherits,
        leaves=finding.leaves,
        line=source_line(side.tree, finding.node),
        kinds=kinds_of(side.tree, finding),
        heals_by_itself=finding.heals_by_itself,
        of_benchmark=finding.side == "benchmark",
        line_alone=lines.has(finding.node, finding.side),
        stands_alone=finding.stands_alone,
        basis=basis_of(
            finding.reasons,
            by_scores=result.walked.by_scores,
            is_guess=is_guess,
            across=_compared_at(finding.node, comparison),
            by_elements=comparison is not None and bool(comparison.elements.tensors),
        ),
    )
