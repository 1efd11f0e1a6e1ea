"""Which nodes begin a difference by their scores alone: for dumps whose elements were not seen.

Each divergent node is either named or follows from what is known: the rules say which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from builder.diagnosis.attribution import Attribution
from builder.diagnosis.changes import Changes
from builder.diagnosis.facts import DivergentRows, Facts
from builder.diagnosis.finding import Change, Finding
from builder.diagnosis.nonfinite import nonfinite_at
from builder.diagnosis.passed_calls import PassedCalls
from builder.diagnosis.policies.by_scores.candidates import Candidates
from builder.diagnosis.policies.by_scores.let_pass import LetPass
from builder.diagnosis.policies.by_scores.lone_updates import lone_updates
from builder.diagnosis.policies.by_scores.score_facts import ScoreFacts
from builder.diagnosis.policies.by_scores.score_rules import (
    RULES_FOR_INPUTS,
    RULES_FOR_OUTPUTS,
    Case,
    candidate_that_made,
    contains_a_finding,
    finding_in_forward,
    first_answer,
    may_follow_a_finding,
)
from builder.diagnosis.policies.by_scores.value_makers import ValueMakers
from builder.diagnosis.sightings import Sightings
from builder.diagnosis.verdicts import Cause, Named, Verdict
from builder.flow.feeding import Flow
from builder.match.tree import TreeNode
from builder.match.value_pairing import SURPLUS
from builder.operators.table import has
from builder.reasons import Drift, IntegersDiffer, Introduced


class ByScores:
    """A node is named where its score is no consequence of what is known.

    Invariant: `_has_read`: a node with values was passed.
    """

    by_scores = True

    def __init__(
        self, facts: Facts, known: Attribution, changes: Changes, flows: tuple[Flow, Flow]
    ) -> None:
        self._facts, self._known, self._changes = facts, known, changes
        self._matching = facts.comparison.matching
        self._scored = ScoreFacts(facts, known.choices)
        self._candidates = Candidates(facts, self._scored, changes)
        self._makers, self._let_pass = ValueMakers(facts, flows), LetPass(facts, known)
        self._has_read = False
        # Distances, of which edges tell, are unknown.
        self._passed_calls = PassedCalls(facts)
        self.sightings = Sightings(facts, changes, self._passed_calls)

    def judge(self, node: TreeNode) -> Iterator[Verdict]:
        """The node alone; what it puts out by rounding alone may pass whatever is said of it."""
        self._makers.reached(self._matching.partner[node])
        between = self._put_between(node)
        if between is not None:
            yield self._of(node, between)
        elif self._scored.is_noteworthy(node):
            yield self._verdict(node)
            yield self._passing(node, self._scored.forgiven(node), rounding=True)
        if self._facts.paired.rows(node):
            self._has_read = True
            self._candidates.compared(node, node in self._known.source)

    def settled(self, verdict: Verdict, finding: Finding, *, is_new: bool) -> None:
        """Leave candidates aside where one of them was named, or another cause was."""
        if is_new:
            self._changes.forget()

    def behind(self, node: TreeNode) -> Finding | None:
        """The finding whose nodes made a value of an unmatched node, or hold it."""
        case = self._case(node, DivergentRows())
        return (
            case.named_by(range(*node.values))
            or self._known.inside(node)
            or finding_in_forward(case)
        )

    def passed(self, node: TreeNode) -> None:
        """What a node puts out becomes known to the nodes after it."""
        self._makers.passed(node)

    def maker(self, row: int) -> TreeNode | None:
        """The problem's call that put out the problem's value of a row."""
        return self._makers.of(row)[0]

    def heal(self, findings: Iterable[Finding]) -> bool:
        """Never: without distances nothing tells that what is left agrees."""
        return False

    def _case(self, node: TreeNode, rows: DivergentRows) -> Case:
        return Case(
            node,
            rows,
            self._facts,
            self._scored,
            self._known,
            self._makers,
            self._let_pass,
            self._candidates,
            self._has_read,
        )

    def _verdict(self, node: TreeNode) -> Verdict:
        facts = self._facts
        case = self._case(node, rows := facts.divergent(node))
        if facts.changes_precision(node) and not facts.reads_precision(node, self.maker):
            self._changes.add("precision", node)
        if rows.outputs and self._makes_nonfinite(case):
            return Verdict(node, nonfinite_at(facts, node))
        parameters = self._scored.parameters_apart(node)
        if parameters and node not in self._known.source:
            reason, more = facts.parameter_reasons(parameters)
            return self._of(node, Named("parameter_differs", node, reason, more=more))
        if rows.inputs:
            return self._of_inputs(case)
        integers = self._other_integers(case) or self._made_integers(node)
        if integers is not None:
            return self._of(node, integers)
        if rows.outputs:
            return self._of_outputs(case)
        if rows.arguments:
            self._changes.add("argument", node)
        return Verdict(node)

    def _of(self, node: TreeNode, cause: Cause) -> Verdict:
        """A verdict with its cause; what differs before a call may be left by an earlier step."""
        begins_before = ("parameter_differs", "input_differs")
        if isinstance(cause, Named) and cause.kind in begins_before and cause.reader is None:
            rows = self._scored.parameters_apart(cause.node)
            rows = rows or self._facts.divergent(cause.node).inputs
            keys = self._known.keys_of(rows, but=self._known.tolerated)
            cause = replace(cause, inherits=keys)
        return Verdict(node, cause)

    def _passing(self, node: TreeNode, values: Sequence[int], *, rounding: bool) -> Verdict:
        self._let_pass.note(values, rounding=rounding)
        return Verdict(node, values=values)

    def _of_inputs(self, case: Case) -> Verdict:
        node, rows = case.node, case.rows
        scaled = self._scaled_gradients(node, rows.inputs)
        known = all(
            row in scaled
            or self._is_tolerated(row)
            or (self._let_pass.reselected and self._facts.paired.is_reshaped(row))
            for row in rows.inputs
        )
        outputs = self._facts.paired.problem_values(rows.outputs)
        if self._scored.is_written_otherwise(node, rows.inputs):
            return Verdict(node)
        if known and candidate_that_made(case) is None:
            others = self._let_pass.prints([r for r in rows.inputs if r not in scaled])
            return self._passing(node, outputs, rounding=others <= self._let_pass.rounding)
        cause = first_answer(RULES_FOR_INPUTS, case)
        return (
            self._passing(node, outputs, rounding=False) if cause is None else self._of(node, cause)
        )

    def _of_outputs(self, case: Case) -> Verdict:
        node, rows = case.node, case.rows.outputs
        outputs = self._facts.paired.problem_values(rows)
        if node.children and self._let_pass.are(rows) and contains_a_finding(case) is None:
            # A module hands on what a call inside it was let off with.
            return self._passing(node, outputs, rounding=False)
        cause = first_answer(RULES_FOR_OUTPUTS, case)
        if cause is not None:
            return self._of(node, cause)
        changed = bool(self._scored.changed_integers(node))
        selection = self._known.choices.is_selection(node) or changed
        if selection:
            self._let_pass.note_selection(node)
        return replace(self._passing(node, outputs, rounding=selection), may_have_chosen=True)

    def _is_tolerated(self, row: int) -> bool:
        """Whether an input is known to differ for no reason that would be a finding.

        It was judged where it was made, unless the two sides read what different calls made, or
        what was made alike was moved since.
        """
        ours, _ = self._facts.paired.value_pair(row)
        if ours == SURPLUS or self._known.prints.numbers[ours] in self._known.tolerated:
            return True
        producer = self._makers.ours.of(ours)
        if producer is None or producer in self._known.source:
            return False
        return self._makers.are_partners(row) and self._makers.moved_from(row) is None

    def _scaled_gradients(self, node: TreeNode, rows: list[int]) -> list[int]:
        if node.phase != "after":
            return []
        scaled = self._let_pass.scaled
        return [row for row in rows if scaled.knows(self._facts.paired.ours[row])]

    def _other_integers(self, case: Case) -> Named | None:
        """Name a node whose integers differ inside the tolerance: they are not to be rounded."""
        if self._let_pass.reselected or case.node.phase != "forward":
            return None
        changed = self._scored.changed_integers(case.node)
        foreign = next(filter(case.is_foreign, changed), None)
        if foreign is None:
            return None
        key = self._facts.comparison.keys[foreign]
        return Named("input_differs", case.node, IntegersDiffer(key))

    def _made_integers(self, node: TreeNode) -> Named | None:
        """Name a call that makes other integers, however near, of inputs that are the very same.

        Nothing is rounded in them; but of what a call ranks, equal statistics may hide the order.
        """
        facts, comparison = self._facts, self._facts.comparison
        made = self._known.choices.made_integers(node)
        read = facts.paired.read(node)
        known = comparison.scores.error[read]
        ranks = has(node.call, "chooses", "picks")
        if not made or ranks or node.kind != "api" or node.phase != "forward":
            return None
        if facts.divergent(node).outputs or (known > 0).any() or not (known == 0).any():
            return None
        return Named("introduced", node, Introduced(*facts.worst_score(made), input_score=0.0))

    def _put_between(self, node: TreeNode) -> Named | None:
        """Name a call of the problem alone that moves a value, inside the threshold, on its way."""
        for row in self._scored.beyond_tolerance(node):
            if self._makers.is_put_between(node, row):
                change = self._call_between(node, row)
                score = float(self._facts.comparison.scores.score[row])
                return None if change is None else self._changes.naming(change, node, score)
        return None

    def _call_between(self, node: TreeNode, row: int) -> Change | None:
        """The call of the problem alone that a value went through, or the last inside a module."""
        ours = self._makers.of(row)[0]
        if ours is not None:
            return self._changes.at(ours)  # none where the layout made it
        known = (self._changes.at(call) for call in self._passed_calls.alone(row))
        found = next((change for change in known if change is not None), None)
        if found is None and self._facts.comparison.is_output[row]:
            return self._changes.inside(node)
        return found

    def _makes_nonfinite(self, case: Case) -> bool:
        return (
            self._facts.makes_nonfinite(case.node)
            and contains_a_finding(case) is None
            and finding_in_forward(case) is None
        )

    # --- at the end -------------------------------------------------------------------------------

    def mistaken(self) -> Iterator[tuple[Finding, Sequence[int]]]:
        """Single updates that rounding in their gradients explains."""
        for finding, written in lone_updates(self._facts, self._known.findings):
            values = self._facts.paired.problem_values([written])
            self._let_pass.note(values, rounding=True)
            yield finding, values

    def at_the_end(self) -> Iterator[Verdict]:
        """What grew too slowly to begin anywhere; and what the optimizer handed on may pass."""
        drift = self._drift()
        if drift is not None:
            yield Verdict(drift.node, drift)
        yield from self._handed_on_updates()

    def _drift(self) -> Named | None:
        """The steepest node of a difference that grew too slowly to begin anywhere.

        Beside findings only what none of them can have led to.
        """
        nodes = (n for n in self._matching.problem.in_order if n.kind != "root")
        drifted = [n for n in nodes if n not in self._known.source and self._has_drifted(n)]
        if self._known.findings:
            drifted = [n for n in drifted if self._is_apart_from_findings(n)]
        if not drifted:
            return None
        steepest = max(drifted, key=self._steepness)
        rows = self._facts.divergent(steepest).outputs
        return Named("introduced", steepest, Drift(*self._facts.worst_score(rows)))

    def _handed_on_updates(self) -> Iterator[Verdict]:
        """Let the next step inherit what the optimizer put out apart, and agrees where it did.

        Called alike on both sides, the optimizer only handed on what gradients differ by. The next
        step reads the same numbers at another depth, with another tolerance.
        """
        order = self._facts.comparison.pairs.node
        nodes = self._matching.problem.in_order
        rows = [r for r in self._scored.barely_agreeing() if nodes[order[r]].phase == "after"]
        if rows and self._updates_alike():
            values = self._facts.paired.problem_values(rows)
            yield self._passing(nodes[order[rows[0]]], values, rounding=False)

    def _updates_alike(self) -> bool:
        """Whether both runs made the same calls after the backward pass, with equal arguments."""
        trees, partner = (self._matching.problem, self._matching.benchmark), self._matching.partner
        ours, theirs = ([n for n in tree.in_order if n.phase == "after"] for tree in trees)
        if not all(node in partner for node in (*ours, *theirs)):
            return False
        return not any(self._facts.divergent(node).arguments for node in ours)

    def _is_apart_from_findings(self, node: TreeNode) -> bool:
        """Whether a node ran before all findings, or no recorded value leads to it from one."""
        if node.phase != "forward":
            return False
        if all(node.exec_order < finding.order for finding in self._known.findings):
            return True
        return not may_follow_a_finding(self._case(node, DivergentRows()))

    def _steepness(self, node: TreeNode) -> float:
        return (self._facts.scores(node)[0] or 0.0) - self._facts.reads(node)

    def _has_drifted(self, node: TreeNode) -> bool:
        picked = self._let_pass.reselected_at
        if picked is not None and picked <= node.exec_order:
            return False  # other elements differ by as much as they like
        # Gradients take the rounding of two passes along.
        most = (2.0 if node.phase == "forward" else 3.0) * self._facts.threshold
        if (self._facts.scores(node)[0] or 0.0) <= most:
            return False
        outputs = self._facts.divergent(node).outputs
        if self._let_pass.prints(outputs) <= self._let_pass.rounding:
            return False
        return not self._scored.hands_on_distance(node)
