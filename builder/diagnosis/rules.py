"""The rules of the diagnosis: each says what a divergent node differs because of, or nothing.

The first rule of a list that answers is right. docs/diagnosis.md explains each with a picture.
"""

from __future__ import annotations

from collections.abc import Callable

from builder.diagnosis.case import Case
from builder.diagnosis.changed_calls import candidate_that_made
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.diagnosis.ledger import Ledger
from builder.diagnosis.score_facts import ScoreFacts
from builder.diagnosis.structure import silent_before
from builder.evidence.distances import ESTIMATED
from builder.match.step_phases import phase_of
from builder.match.tree import TreeNode
from builder.match.value_pairing import SURPLUS
from builder.reasons import (
    BatchDiffers,
    ElementsMoved,
    FirstInexact,
    InputDiffers,
    Introduced,
    ParameterDiffers,
    UnrecordedDiffers,
)

# How many calls a difference inside the tolerance is followed upstream.
_UPSTREAM = 16


Rule = Callable[[Case], Finding | None]


def reads_what_a_finding_made(case: Case) -> Finding | None:
    """An input is a value that a node of an earlier finding put out."""
    return value_of_a_finding(case, case.facts.paired.problem_values(case.rows.inputs))


def contains_a_finding(case: Case) -> Finding | None:
    """A call inside this module belongs to a finding."""
    return case.ledger.inside(case.node)


def comes_from_a_wrong_loss(case: Case) -> Finding | None:
    """A gradient comes from a loss behind the first finding of the forward pass."""
    return case.ledger.first_in_forward(case.node.micro_step) if case.is_gradient else None


def comes_from_a_wrong_forward(case: Case) -> Finding | None:
    """A gradient is computed from activations that belong to a finding, or differ."""
    return finding_in_forward(case.facts, case.ledger, case.node)


def reads_behind_a_mask(case: Case) -> Finding | None:
    """Infinities or masks hide an input; the call that made it belongs to a finding."""
    makers = (case.ledger.producers.of(i) for i in case.scored.hidden_inputs(case.node))
    known = (case.ledger.source.get(maker) for maker in makers if maker is not None)
    return next((finding for finding in known if finding is not None), None)


def has_another_argument(case: Case) -> Finding | None:
    """The call itself was given another argument, or a tensor that the other run does not give."""
    given = case.rows.arguments or case.candidates.given_by_one_run(case.node)
    if not given:
        return None
    reason = case.facts.argument_reason(given[0])
    return case.ledger.open(case.node, "argument_differs", reason)


def follows_a_changed_call(case: Case) -> Finding | None:
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
    return case.candidates.open(candidate, case.node, case.ledger, score)


def reads_a_wrong_parameter(case: Case) -> Finding | None:
    """An input is a parameter of a module around it, and that parameter differs."""
    owner = case.node.parent
    while owner is not None and owner.kind == "module":
        parameters = case.facts.divergent(owner).parameters
        if case.facts.paired.share_a_value(parameters, case.rows.inputs):
            reason = ParameterDiffers(*case.facts.worst_score(parameters))
            return case.ledger.open(owner, "parameter_differs", reason)
        owner = owner.parent
    return None


def was_fed_other_data(case: Case) -> Finding | None:
    """The first node that reads anything reads other data, or integers that no call made."""
    is_foreign = case.ledger.is_foreign(case.facts.worst(case.rows.inputs))
    if (case.ledger.compared and not is_foreign) or phase_of(case.node) != "forward":
        return None
    worst = case.facts.worst_score(case.rows.inputs)
    reason = (
        UnrecordedDiffers(*worst, silent_before(case.node))
        if case.ledger.compared
        else BatchDiffers(*worst)
    )
    return case.ledger.open(case.node, "input_differs", reason)


def reads_moved_elements(case: Case) -> Finding | None:
    """The call that made an input agrees with its partner: on the way here elements were moved."""
    for row in case.rows.inputs:
        made = case.ledger.moved_from(row)
        if made is not None and made not in case.ledger.source:
            key = case.facts.comparison.keys[row]
            reason = ElementsMoved(key, made.name)
            return case.ledger.open(case.node, "input_differs", reason)
    return None


def follows_the_latest_finding(case: Case) -> Finding | None:
    """Nothing more precise is known, and an earlier finding may explain it."""
    if not may_follow_a_finding(case.facts, case.scored, case.ledger, case.node):
        return None
    return case.ledger.latest(weak=True)


def differs_unexplained(case: Case) -> Finding | None:
    """An input differs clearly and nothing that was recorded before explains it."""
    # Where rounding picked other elements, what is gathered from them and their gradients differ,
    # and nothing recorded says so. What was let pass where it was made says nothing here.
    asked = [row for row in case.rows.inputs if not case.ledger.are_let_pass([row])]
    worst = case.facts.worst(asked or case.rows.inputs)
    if case.ledger.reselected and not case.ledger.is_made(worst):
        unexplained = False
    elif case.ledger.reselected and phase_of(case.node) == "backward":
        unexplained = case.score_of_worst(case.rows.inputs) > 3 * case.facts.threshold
    else:
        unexplained = case.scored.is_clear(case.rows.inputs)
    # What moved unrecorded is estimated anew each time.
    usual = case.candidates.usual_strain()
    if not unexplained or not case.scored.stands_out(case.rows.inputs, ESTIMATED * usual):
        return None
    reason = InputDiffers(*case.facts.worst_score(case.rows.inputs))
    return case.ledger.open(case.node, "input_differs", reason)


def grew_out_of_a_finding(case: Case) -> Finding | None:
    """Inputs outside the tolerance were touched by an earlier finding."""
    before = case.facts.reads(case.node)
    if comes := comes_from_a_wrong_loss(case):
        return comes
    if not may_follow_a_finding(case.facts, case.scored, case.ledger, case.node):
        return None
    if before > 0 or not has_grown(case):
        return case.ledger.latest(weak=before > 0)
    return None


def begins_within_the_tolerance(case: Case) -> Finding | None:
    """All before a call upstream agrees to the last digit, its output plainly does not."""
    reached = case.node
    for _ in range(_UPSTREAM if begins_here(case) else 0):
        inexact = case.facts.paired.problem_values(case.scored.inexact_inputs(reached))
        made = (case.ledger.producers.of(index) for index in inexact)
        before = next((n for n in made if n is not None and n is not reached), None)
        if before is None or before in case.ledger.source:
            return None
        reached = before
        if case.scored.begins_inexactness(reached):
            key = case.scored.inexact_output(reached)
            reason = FirstInexact(key, case.node.name)
            score = case.score_of_worst(case.rows.outputs)
            return case.ledger.open(reached, "introduced", reason, score)
    return None


def introduces_a_difference(case: Case) -> Finding | None:
    """Inputs agree, outputs diverge: it begins here."""
    if not begins_here(case):
        return None
    otherwise = case.candidates.given_otherwise(case.node)
    if otherwise:
        given = case.facts.argument_reason(otherwise[0])
        return case.ledger.open(case.node, "argument_differs", given)
    worst, before = case.facts.worst_score(case.rows.outputs), case.facts.reads(case.node)
    return case.ledger.open(case.node, "introduced", Introduced(*worst, before))


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


def first_answer(rules: tuple[Rule, ...], case: Case) -> Finding | None:
    """What the first rule that knows says."""
    answers = (rule(case) for rule in rules)
    return next((finding for finding in answers if finding is not None), None)


# --- what rules ask -----------------------------------------------------------------------------


def has_grown(case: Case) -> bool:
    """Whether outputs are further apart than what they were computed from explains."""
    if case.scored.hands_on_distance(case.node):
        return False
    score, before = case.facts.scores(case.node)[0] or 0.0, case.facts.reads(case.node)
    # What is off already may grow by as much again without a fault of its own.
    grown = score - before > case.facts.threshold + before
    ours, theirs = case.facts.comparison.precision
    is_fine = phase_of(case.node) == "forward" and ours == theirs
    return grown and (is_fine or case.scored.is_clear(case.rows.outputs))


def begins_here(case: Case) -> bool:
    """Whether a difference has grown here, other than by rounding that picks elements.

    Integers know no rounding: where some went in that differ at all, it began before.
    """
    changed = case.scored.changed_integers(case.node)
    return has_grown(case) and not changed and not case.ledger.choices.is_selection(case.node)


def value_of_a_finding(case: Case, indices: range | list[int]) -> Finding | None:
    """The finding that made one of the problem side's values."""
    return finding_behind(case.facts, case.ledger, indices)


def finding_behind(facts: Facts, ledger: Ledger, indices: range | list[int]) -> Finding | None:
    """The finding whose nodes made one of some values."""
    for index in indices:
        if index == SURPLUS:
            continue
        producer = ledger.producers.of(index)
        if producer is not None and producer in ledger.source:
            return ledger.source[producer]
        if ledger.findings and facts.paired.is_nonfinite(index):
            # NaN has no fingerprint; what made the latest one is the natural cause.
            return ledger.latest_nonfinite
    return None


def may_follow_a_finding(facts: Facts, scored: ScoreFacts, ledger: Ledger, node: TreeNode) -> bool:
    """Whether what a node reads may come from a finding, as far as its values can be traced.

    Only values that differ are followed upstream. Where the maker of one is not known or read
    nothing that is compared, or the way grows long, anything may be behind it; so it may behind a
    gradient, whose call reads activations that its entry does not list.
    """
    if node.direction == "backward" or phase_of(node) != "forward":
        return True
    seen, asked = {node}, [node]
    while asked and len(seen) <= _UPSTREAM:
        reader = asked.pop()
        if _reads_uncompared(facts, reader):
            return True
        differing = facts.paired.problem_values(scored.inexact_inputs(reader))
        makers = {ledger.producers.of(index) for index in differing if index != SURPLUS}
        if None in makers or any(maker in ledger.source for maker in makers):
            return True
        new = [maker for maker in makers if maker is not None and maker not in seen]
        asked += new
        seen.update(new)
    return bool(asked)


def _reads_uncompared(facts: Facts, node: TreeNode) -> bool:
    """Whether a node reads tensors of which none is compared: its partner has no values."""
    comparison, values = facts.comparison, facts.paired.values
    rows = (row for row in facts.paired.rows(node) if not comparison.is_output[row])
    if any(comparison.score[row] >= 0 for row in rows):
        return False
    return any(
        values.records[index].dtype is not None and values.keys[index].startswith("input")
        for index in range(*node.values)
    )


def finding_in_forward(facts: Facts, ledger: Ledger, node: TreeNode) -> Finding | None:
    """The finding behind the activations that a backward call reads and its entry does not list."""
    if node.direction != "backward" or node.entry is None or not ledger.findings:
        return None
    if node.holds_gradients:
        carried = _finding_behind_gradient(facts, ledger, node)
        if carried is not None:
            return carried
    forward = node.forward
    if forward is None:
        return None
    if forward in ledger.source:
        return ledger.source[forward]
    score, before = facts.scores(forward)
    diverged = max(score or 0.0, before or 0.0) > facts.threshold
    return ledger.latest() if diverged else None


def _finding_behind_gradient(facts: Facts, ledger: Ledger, node: TreeNode) -> Finding | None:
    # A parameter's gradient fires before its module's backward entry is complete, so the
    # gradient that flows into the module is looked up ahead of its turn.
    beside = ledger.inside(node.parent) if node.parent is not None else None
    if beside is not None:
        return beside
    module = node.backward or node.parent
    if module is None or module.kind == "root" or not facts.paired.rows(module):
        return ledger.latest()
    inputs = facts.divergent(module).inputs
    if not inputs:
        return None
    return finding_behind(facts, ledger, facts.paired.problem_values(inputs)) or ledger.latest()
