"""The rules of the diagnosis: each says what a divergent node differs because of, or nothing.

The first rule of a list that answers is right. docs/diagnosis-by-scores.md
explains each with a picture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from builder.diagnosis.attribution import Attribution
from builder.diagnosis.changes import silent_before
from builder.diagnosis.communication import gathers
from builder.diagnosis.facts import DivergentRows, Facts
from builder.diagnosis.finding import Change, Finding
from builder.diagnosis.policies.by_scores.candidates import Candidates
from builder.diagnosis.policies.by_scores.let_pass import LetPass
from builder.diagnosis.policies.by_scores.score_facts import ScoreFacts
from builder.diagnosis.policies.by_scores.value_makers import ValueMakers
from builder.diagnosis.verdicts import Cause, Named
from builder.evidence.distances import ESTIMATED
from builder.flow.feeding import named_output
from builder.match.tree import TreeNode
from builder.match.value_pairing import SURPLUS
from builder.reasons import (
    ElementsMoved,
    FirstInexact,
    InputDiffers,
    Introduced,
    UnrecordedDiffers,
)

# How many calls a difference inside the tolerance is followed upstream.
_UPSTREAM = 16


@dataclass(frozen=True, slots=True)
class Case:
    """A matched node whose values diverge, and all that a rule may ask about it.

    `has_read`: a node with values ran before.
    """

    node: TreeNode
    rows: DivergentRows
    facts: Facts
    scored: ScoreFacts
    attribution: Attribution
    makers: ValueMakers
    let_pass: LetPass
    candidates: Candidates
    has_read: bool

    @property
    def is_gradient(self) -> bool:
        """Whether the node is part of the backward pass."""
        return self.node.direction == "backward"

    def score_of_worst(self, rows: list[int]) -> float:
        """The highest score among some rows."""
        return float(self.facts.comparison.scores.score[self.facts.worst(rows)])

    def named_by(self, values: range | list[int]) -> Finding | None:
        """The finding whose nodes made one of the problem side's values."""
        for value in values:
            producer = None if value == SURPLUS else self.makers.ours.of(value)
            if producer is not None and producer in self.attribution.source:
                return self.attribution.source[producer]
            is_known = value != SURPLUS and self.attribution.findings
            if is_known and self.facts.paired.is_nonfinite(value):
                # NaN has no fingerprint; what made the latest one is the natural cause.
                return self.attribution.latest_nonfinite
        return None

    def is_foreign(self, row: int) -> bool:
        """Whether an integer is data of the run: token ids, labels, masks that no call made.

        Masks and indices behind a finding were computed, so that there it has to be certain.
        """
        if not self.facts.paired.is_integer(row) or self.makers.are_partners(row):
            return False
        return not self.attribution.findings or self.makers.is_from_outside(row)


Rule: TypeAlias = Callable[[Case], Cause | None]


def reads_what_a_finding_made(case: Case) -> Cause | None:
    """An input is a value that a node of an earlier finding put out."""
    return case.named_by(case.facts.paired.problem_values(case.rows.inputs))


def contains_a_finding(case: Case) -> Cause | None:
    """A call inside this module belongs to a finding."""
    return case.attribution.inside(case.node)


def comes_from_a_wrong_loss(case: Case) -> Cause | None:
    """A gradient comes from a loss behind the first finding of the forward pass."""
    return case.attribution.first_in_forward(case.node.micro_step) if case.is_gradient else None


def comes_from_a_wrong_forward(case: Case) -> Cause | None:
    """A gradient is computed from activations that belong to a finding, or differ."""
    return finding_in_forward(case)


def reads_behind_a_mask(case: Case) -> Cause | None:
    """Infinities or masks hide an input; the call that made it belongs to a finding."""
    makers = (case.makers.ours.of(i) for i in case.scored.hidden_inputs(case.node))
    known = (case.attribution.source.get(maker) for maker in makers if maker is not None)
    return next((finding for finding in known if finding is not None), None)


def has_another_argument(case: Case) -> Cause | None:
    """The call itself was given another argument, or a tensor that the other run does not give."""
    given = case.rows.arguments or case.candidates.changes.given_by_one_run(case.node)
    if not given:
        return None
    reason = case.facts.argument_reason(given[0])
    return Named("argument_differs", case.node, reason)


def follows_a_changed_call(case: Case) -> Cause | None:
    """A call that one side alone makes, or made otherwise, and differences begin right after it."""
    candidate = (
        candidate_that_made(case)
        or (case.candidates.inside(case.node) if not case.rows.inputs else None)
        or case.candidates.behind(case.node)
    )
    if candidate is None:
        return None
    # It has no score of its own: what its value does to its reader stands in for it.
    score = case.score_of_worst(case.rows.inputs or case.rows.outputs)
    return case.candidates.changes.naming(candidate, case.node, score)


def reads_a_wrong_parameter(case: Case) -> Cause | None:
    """An input is a parameter of a module around it, and that parameter differs."""
    owner = case.node.parent
    while owner is not None and owner.kind == "module":
        parameters = case.facts.divergent(owner).parameters
        if case.facts.paired.share_a_value(parameters, case.rows.inputs):
            reason, more = case.facts.parameter_reasons(parameters)
            return Named("parameter_differs", owner, reason, more=more)
        owner = owner.parent
    return None


def was_fed_other_data(case: Case) -> Cause | None:
    """The first node that reads anything reads other data, or integers that no call made."""
    row = case.facts.worst(case.rows.inputs)
    is_foreign = case.is_foreign(row)
    if (case.has_read and not is_foreign) or case.node.phase != "forward":
        return None
    if case.facts.paired.ours[row].requires_grad:
        return None  # a parameter, or what a layer made that was not recorded
    if gathers(case.node) and not case.facts.paired.is_integer(row):
        return None  # shards of a parameter, which ranks put together before a module reads it
    worst = case.facts.worst_score(case.rows.inputs)
    reason = (
        UnrecordedDiffers(*worst, silent_before(case.node))
        if case.has_read
        else case.facts.batch_reason(case.node, case.rows.inputs)
    )
    return Named("input_differs", case.node, reason)


def reads_moved_elements(case: Case) -> Cause | None:
    """The call that made an input agrees with its partner: on the way here elements were moved."""
    for row in case.rows.inputs:
        made = case.makers.moved_from(row)
        if made is not None and made not in case.attribution.source:
            key = case.facts.comparison.keys[row]
            reason = ElementsMoved(key, made.name)
            return Named("input_differs", case.node, reason)
    return None


def follows_the_latest_finding(case: Case) -> Cause | None:
    """Nothing more precise is known, and an earlier finding may explain it."""
    if not may_follow_a_finding(case):
        return None
    return case.attribution.latest(weak=True)


def differs_unexplained(case: Case) -> Cause | None:
    """An input differs clearly and nothing that was recorded before explains it."""
    # Where rounding picked other elements, what is gathered from them and their gradients differ,
    # and nothing recorded says so. What was let pass where it was made says nothing here.
    asked = [row for row in case.rows.inputs if not case.let_pass.are([row])]
    worst = case.facts.worst(asked or case.rows.inputs)
    if case.let_pass.reselected and not case.makers.is_made(worst):
        unexplained = False
    elif case.let_pass.reselected and case.node.phase == "backward":
        unexplained = case.score_of_worst(case.rows.inputs) > 3 * case.facts.threshold
    else:
        unexplained = case.scored.is_clear(case.rows.inputs)
    # What moved unrecorded is estimated anew each time.
    usual = case.candidates.usual_strain()
    if not unexplained or not case.scored.stands_out(case.rows.inputs, ESTIMATED * usual):
        return None
    reason = InputDiffers(*case.facts.worst_score(case.rows.inputs))
    return Named("input_differs", case.node, reason)


def grew_out_of_a_finding(case: Case) -> Cause | None:
    """Inputs outside the tolerance were touched by an earlier finding."""
    before = case.facts.reads(case.node)
    if comes := comes_from_a_wrong_loss(case):
        return comes
    if not may_follow_a_finding(case):
        return None
    if before > 0 or not has_grown(case):
        return case.attribution.latest(weak=before > 0)
    return None


def begins_within_the_tolerance(case: Case) -> Cause | None:
    """All before a call upstream agrees to the last digit, its output plainly does not."""
    reached = case.node
    for _ in range(_UPSTREAM if begins_here(case) else 0):
        inexact = case.facts.paired.problem_values(case.scored.inexact_inputs(reached))
        made = (case.makers.ours.of(index) for index in inexact)
        before = next((n for n in made if n is not None and n is not reached), None)
        if before is None or before in case.attribution.source:
            return None
        reached = before
        if case.scored.begins_inexactness(reached):
            key = case.scored.inexact_output(reached)
            reason = FirstInexact(key, case.node.name)
            score = case.score_of_worst(case.rows.outputs)
            return Named("introduced", reached, reason, score)
    return None


def introduces_a_difference(case: Case) -> Cause | None:
    """Inputs agree, outputs diverge: it begins here."""
    if not begins_here(case):
        return None
    known = case.attribution.latest(weak=True)
    if known is not None and case.scored.inexact_inputs(case.node):
        return known  # statistics that agree do not show that the finding has not led here
    otherwise = case.candidates.changes.given_otherwise(case.node)
    if otherwise:
        given = case.facts.argument_reason(otherwise[0])
        return Named("argument_differs", case.node, given)
    worst, before = case.facts.worst_score(case.rows.outputs), case.facts.reads(case.node)
    return Named("introduced", case.node, Introduced(*worst, before))


RULES_FOR_INPUTS: tuple[Rule, ...] = (
    reads_what_a_finding_made,
    contains_a_finding,
    comes_from_a_wrong_loss,
    reads_a_wrong_parameter,
    follows_a_changed_call,
    was_fed_other_data,
    reads_moved_elements,
    follows_the_latest_finding,
    differs_unexplained,
)
"""Asked of a node with divergent inputs."""

RULES_FOR_OUTPUTS: tuple[Rule, ...] = (
    contains_a_finding,
    comes_from_a_wrong_forward,
    has_another_argument,
    reads_behind_a_mask,
    grew_out_of_a_finding,
    follows_a_changed_call,
    begins_within_the_tolerance,
    introduces_a_difference,
)
"""Asked of a node whose outputs diverge and whose inputs do not."""


def first_answer(rules: tuple[Rule, ...], case: Case) -> Cause | None:
    """What the first rule that knows says."""
    return next((said for rule in rules if (said := rule(case)) is not None), None)


# --- what rules ask -----------------------------------------------------------------------------


def has_grown(case: Case) -> bool:
    """Whether outputs are further apart than what they were computed from explains."""
    if case.scored.hands_on_distance(case.node):
        return False
    score, before = case.facts.scores(case.node)[0] or 0.0, case.facts.reads(case.node)
    # What is off already may grow by as much again without a fault of its own.
    grown = score - before > case.facts.threshold + before
    ours, theirs = case.facts.comparison.setting.precision
    is_fine = case.node.phase == "forward" and ours == theirs
    return grown and (is_fine or case.scored.is_clear(case.rows.outputs))


def begins_here(case: Case) -> bool:
    """Whether a difference has grown here, other than by rounding that picks elements.

    Integers know no rounding: where some went in that differ at all, it began before.
    """
    changed = case.scored.changed_integers(case.node)
    return has_grown(case) and not changed and not case.attribution.choices.is_selection(case.node)


def may_follow_a_finding(case: Case) -> bool:
    """Whether what a node reads may come from a finding, as far as its values can be traced.

    Only values that differ are followed upstream. Where the maker of one is not known or read
    nothing that is compared, or the way grows long, anything may be behind it; so it may behind a
    gradient, whose call reads activations that its entry does not list.
    """
    node, facts, source = case.node, case.facts, case.attribution.source
    if case.is_gradient or node.phase != "forward":
        return True
    seen, asked = {node}, [node]
    while asked and len(seen) <= _UPSTREAM:
        reader = asked.pop()
        if _reads_uncompared(facts, reader):
            return True
        differing = facts.paired.problem_values(case.scored.inexact_inputs(reader))
        makers = {case.makers.ours.of(index) for index in differing if index != SURPLUS}
        if None in makers or any(maker in source for maker in makers):
            return True
        new = [maker for maker in makers if maker is not None and maker not in seen]
        asked += new
        seen.update(new)
    return bool(asked)


def _reads_uncompared(facts: Facts, node: TreeNode) -> bool:
    """Whether a node reads tensors of which none is compared: its partner has no values."""
    comparison, values = facts.comparison, facts.paired.values
    rows = (row for row in facts.paired.rows(node) if not comparison.is_output[row])
    if any(comparison.scores.score[row] >= 0 for row in rows):
        return False
    return any(
        values.records[index].dtype is not None and values.keys[index].startswith("input")
        for index in range(*node.values)
    )


def finding_in_forward(case: Case) -> Finding | None:
    """The finding behind the activations that a backward call reads and its entry does not list."""
    node, known = case.node, case.attribution
    if node.direction != "backward" or node.entry is None or not known.findings:
        return None
    if node.holds_gradients:
        carried = _finding_behind_gradient(case)
        if carried is not None:
            return carried
    forward = node.forward
    if forward is None:
        return None
    if forward in known.source:
        return known.source[forward]
    score, before = case.facts.scores(forward)
    diverged = max(score or 0.0, before or 0.0) > case.facts.threshold
    return known.latest() if diverged else None


def _finding_behind_gradient(case: Case) -> Finding | None:
    # A parameter's gradient fires before its module's backward entry is complete, so the
    # gradient that flows into the module is looked up ahead of its turn.
    node, known, facts = case.node, case.attribution, case.facts
    beside = known.inside(node.parent) if node.parent is not None else None
    if beside is not None:
        return beside
    module = node.backward or node.parent
    if module is None or module.kind == "root" or not facts.paired.rows(module):
        return known.latest()
    inputs = facts.divergent(module).inputs
    if not inputs:
        return None
    return case.named_by(facts.paired.problem_values(inputs)) or known.latest()


def candidate_that_made(case: Case) -> Change | None:
    """The candidate whose very value is read here, on either side.

    What is no further apart than was usual before came so, whatever call it went through.
    """
    usual, changes = case.candidates.usual_strain(), case.candidates.changes
    for row in case.rows.inputs or case.rows.outputs:
        if not case.scored.stands_out([row], usual):
            continue
        makers = (maker for maker in case.makers.of(row) if maker is not None)
        known = (change for maker in makers if (change := changes.at(maker)) is not None)
        candidate = next(known, None) or _candidate_ahead(case, row)
        if candidate is not None:
            return candidate
    return None


def _candidate_ahead(case: Case, row: int) -> Change | None:
    """The unmatched call that either dump names as the maker of an input."""
    matching = case.facts.comparison.matching
    trees = (matching.problem, matching.benchmark)
    readers = (case.node, matching.partner[case.node])
    for tree, reader, side in zip(trees, readers, case.facts.comparison.records):
        source = side[row].source
        named = named_output(tree, source) if source else None
        if named is not None and named[0].exec_order > reader.exec_order:
            return case.candidates.changes.ahead(named[0], case.node)
    return None
