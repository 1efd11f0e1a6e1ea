"""Where a difference begins by scores alone: for dumps whose elements were not seen.

Each divergent node either opens a finding or is a carrier of one: the rules say which.
"""

from __future__ import annotations

from dataclasses import replace

from builder.compare.comparison import Comparison
from builder.diagnosis.candidates import Candidates
from builder.diagnosis.case import Case
from builder.diagnosis.change_kinds import Sighting
from builder.diagnosis.changed_calls import candidate_that_made
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.diagnosis.ledger import Ledger
from builder.diagnosis.lone_updates import take_back_lone_updates
from builder.diagnosis.nonfinite import open_nonfinite, unmatched_makes_nonfinite
from builder.diagnosis.passed_calls import PassedCalls
from builder.diagnosis.rules import (
    RULES_FOR_INPUTS,
    RULES_FOR_OUTPUTS,
    contains_a_finding,
    finding_behind,
    finding_in_forward,
    first_answer,
    may_follow_a_finding,
)
from builder.diagnosis.score_facts import ScoreFacts
from builder.diagnosis.sightings import Sightings
from builder.diagnosis.walked import Walked
from builder.match.step_phases import phase_of
from builder.match.tree import TreeNode
from builder.match.value_pairing import SURPLUS
from builder.operators.table import has
from builder.reasons import Drift, IntegersDiffer, Introduced, ParameterDiffers


def walk_by_scores(comparison: Comparison, threshold: float) -> Walked:
    """The findings of one comparison in order; carriers stand in each finding's `carriers`."""
    state = _Walk(Facts(comparison, threshold))
    nodes = [n for n in comparison.matching.problem.in_order if n.kind != "root"]
    for node in nodes:
        state.visit(node)
    ledger = state.ledger
    take_back_lone_updates(state.facts, ledger)
    late = state.candidates.open_late(ledger)
    state.find_drift(nodes)
    state.hand_on_updates()
    return replace(ledger.walked(late), sightings=state.sightings())


class _Walk:
    """Visits the nodes in order and asks the rules; `ledger` holds what came of it."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.matching = facts.comparison.matching
        self.ledger = Ledger(facts)
        self.scored = ScoreFacts(facts, self.ledger.choices)
        self.candidates = Candidates(facts, self.scored)

    def visit(self, node: TreeNode) -> None:
        """Judge one node; its outputs become known to the nodes after it."""
        partner = self.matching.partner.get(node)
        if partner is None:
            self._visit_unmatched(node)
        else:
            benchmark = self.ledger.benchmark_producers
            if partner.exec_order >= benchmark.reached:
                benchmark.reached = partner.exec_order + 1
                self.candidates.follow(node, partner)
            if self.scored.is_noteworthy(node):
                self._visit_noteworthy(node)
            if self.facts.paired.rows(node):
                self.ledger.compared = True
                self.candidates.compared(node, node in self.ledger.source)
        self.ledger.producers.reached = node.exec_order + 1

    # Unmatched nodes have no score: they matter as makers of NaN and as causes of what follows.
    def _visit_unmatched(self, node: TreeNode) -> None:
        cause = (
            finding_behind(self.facts, self.ledger, range(*node.values))
            or self.ledger.inside(node)
            or finding_in_forward(self.facts, self.ledger, node)
        )
        if cause is not None:
            self.ledger.carry(cause, node)
        elif unmatched_makes_nonfinite(self.facts, node):
            open_nonfinite(self.facts, self.ledger, node)
        if self.candidates.is_change(node):
            self.candidates.add("extra", node)

    def _visit_noteworthy(self, node: TreeNode) -> None:
        findings = len(self.ledger.findings)
        self._visit_matched(node)
        if len(self.ledger.findings) > findings:
            # One of the candidates was named, or another cause was.
            self.candidates.clear()
        self.ledger.tolerate(self.scored.forgiven(node), rounding=True)

    def _visit_matched(self, node: TreeNode) -> None:
        rows = self.facts.divergent(node)
        case = Case(node, rows, self.facts, self.scored, self.ledger, self.candidates)
        if self.facts.changes_precision(node) and not self.facts.reads_precision(node, self._maker):
            self.candidates.add("precision", node)
        if rows.outputs and self._makes_nonfinite(case):
            open_nonfinite(self.facts, self.ledger, node)
        elif rows.parameters and node not in self.ledger.source:
            reason = ParameterDiffers(*self.facts.worst_score(rows.parameters))
            self.ledger.open(node, "parameter_differs", reason)
        elif rows.inputs:
            self._visit_divergent_input(case)
        elif self._open_other_integers(node) or self._open_made_integers(node):
            pass
        elif rows.outputs:
            self._visit_divergent_output(case)
        elif rows.arguments:
            self.candidates.add("argument", node)

    def _visit_divergent_input(self, case: Case) -> None:
        rows, ledger = case.rows, self.ledger
        scaled = self._scaled_gradients(case.node, rows.inputs)
        known = all(
            row in scaled
            or self._is_tolerated(row)
            or (ledger.reselected and self.facts.paired.is_reshaped(row))
            for row in rows.inputs
        )
        outputs = self.facts.paired.problem_values(rows.outputs)
        if self.scored.is_written_otherwise(case.node, rows.inputs):
            return
        if known and candidate_that_made(case) is None:
            others = self.facts.paired.problem_values([r for r in rows.inputs if r not in scaled])
            ledger.tolerate(outputs, ledger.fingerprints(others) <= ledger.rounding)
            return
        cause = first_answer(RULES_FOR_INPUTS, case)
        if cause is not None:
            ledger.carry(cause, case.node)
        else:
            ledger.tolerate(outputs)

    def _visit_divergent_output(self, case: Case) -> None:
        ledger, node = self.ledger, case.node
        outputs = self.facts.paired.problem_values(case.rows.outputs)
        is_let_off = ledger.are_let_pass(case.rows.outputs)
        if node.children and is_let_off and contains_a_finding(case) is None:
            ledger.tolerate(outputs)
            return  # a module hands on what a call inside it was let off with
        cause = first_answer(RULES_FOR_OUTPUTS, case)
        if cause is not None:
            ledger.carry(cause, node)
        else:
            ledger.note_choice(node)
            changed = self.scored.changed_integers(node)
            selection = ledger.choices.is_selection(node) or bool(changed)
            if selection and not ledger.reselected:
                ledger.reselected_at = node.exec_order
            ledger.tolerate(outputs, rounding=selection)

    def _is_tolerated(self, row: int) -> bool:
        """Whether an input is known to differ for no reason that would be a finding.

        It was judged where it was made, unless the two sides read what different calls made, or
        what was made alike was moved since.
        """
        ours, _ = self.facts.paired.value_pair(row)
        producers = self.ledger.producers
        if ours == SURPLUS or producers.prints.numbers[ours] in self.ledger.tolerated:
            return True
        producer = producers.of(ours)
        if producer is None or producer in self.ledger.source:
            return False
        return self.ledger.is_made_by_partners(row) and self.ledger.moved_from(row) is None

    def _scaled_gradients(self, node: TreeNode, rows: list[int]) -> list[int]:
        if phase_of(node) != "after":
            return []
        return [row for row in rows if self.ledger.scaled.knows(self.facts.paired.ours[row])]

    def _maker(self, row: int) -> TreeNode | None:
        """The problem's call that put out the problem's value of a row."""
        return self.ledger.producers.of(self.facts.paired.value_pair(row)[0])

    def _open_other_integers(self, node: TreeNode) -> Finding | None:
        """Name a node whose integers differ inside the tolerance: they are not to be rounded."""
        ledger = self.ledger
        if ledger.reselected or phase_of(node) != "forward":
            return None
        foreign = next(filter(ledger.is_foreign, self.scored.changed_integers(node)), None)
        if foreign is None:
            return None
        key = self.facts.comparison.keys[foreign]
        return ledger.open(node, "input_differs", IntegersDiffer(key))

    def _open_made_integers(self, node: TreeNode) -> Finding | None:
        """Name a call that makes other integers, however near, of inputs that are the very same.

        Nothing is rounded in them; but of what a call ranks, equal statistics may hide the order.
        """
        facts, comparison = self.facts, self.facts.comparison
        made = self.ledger.choices.made_integers(node)
        read = facts.paired.read(node)
        known = comparison.error[read]
        ranks = has(node.call, "chooses", "picks")
        if not made or ranks or node.kind != "api" or phase_of(node) != "forward":
            return None
        if facts.divergent(node).outputs or (known > 0).any() or not (known == 0).any():
            return None
        reason = Introduced(*facts.worst_score(made), input_score=0.0)
        return self.ledger.open(node, "introduced", reason)

    # --- NaN and infinity -------------------------------------------------------------------------

    def _makes_nonfinite(self, case: Case) -> bool:
        return (
            self.facts.makes_nonfinite(case.node)
            and contains_a_finding(case) is None
            and finding_in_forward(self.facts, self.ledger, case.node) is None
        )

    def sightings(self) -> tuple[Sighting, ...]:
        """What the nodes show of changed calls; distances, of which edges tell, are unknown."""
        prints = (self.ledger.producers.prints, self.ledger.benchmark_producers.prints)
        return Sightings(self.facts, self.candidates, PassedCalls(self.facts)).listed(
            prints, self._maker
        )

    # --- at the end -------------------------------------------------------------------------------

    def find_drift(self, nodes: list[TreeNode]) -> None:
        """Name the steepest node of a difference that grew too slowly to begin anywhere.

        Beside findings only what none of them can have led to.
        """
        drifted = [n for n in nodes if n not in self.ledger.source and self._has_drifted(n)]
        if self.ledger.findings:
            drifted = [n for n in drifted if self._is_apart_from_findings(n)]
        if drifted:
            steepest = max(drifted, key=self._steepness)
            rows = self.facts.divergent(steepest).outputs
            reason = Drift(*self.facts.worst_score(rows))
            self.ledger.open(steepest, "introduced", reason)

    def hand_on_updates(self) -> None:
        """Let the next step inherit what the optimizer put out apart, and agrees where it did.

        Called alike on both sides, the optimizer only handed on what gradients differ by. The next
        step reads the same numbers at another depth, with another tolerance.
        """
        order = self.facts.comparison.pairs.node
        nodes = self.matching.problem.in_order
        rows = [r for r in self.scored.barely_agreeing() if phase_of(nodes[order[r]]) == "after"]
        if rows and self._updates_alike():
            self.ledger.tolerate(self.facts.paired.problem_values(rows))

    def _updates_alike(self) -> bool:
        """Whether both runs made the same calls after the backward pass, with equal arguments."""
        trees, partner = (self.matching.problem, self.matching.benchmark), self.matching.partner
        ours, theirs = ([n for n in tree.in_order if phase_of(n) == "after"] for tree in trees)
        if not all(node in partner for node in (*ours, *theirs)):
            return False
        return not any(self.facts.divergent(node).arguments for node in ours)

    def _is_apart_from_findings(self, node: TreeNode) -> bool:
        """Whether a node ran before all findings, or no recorded value leads to it from one."""
        if phase_of(node) != "forward":
            return False
        if all(node.exec_order < finding.order for finding in self.ledger.findings):
            return True
        return not may_follow_a_finding(self.facts, self.scored, self.ledger, node)

    def _steepness(self, node: TreeNode) -> float:
        return (self.facts.scores(node)[0] or 0.0) - self.facts.reads(node)

    def _has_drifted(self, node: TreeNode) -> bool:
        picked = self.ledger.reselected_at
        if picked is not None and picked <= node.exec_order:
            return False  # other elements differ by as much as they like
        # Gradients take the rounding of two passes along.
        most = (2.0 if phase_of(node) == "forward" else 3.0) * self.facts.threshold
        if (self.facts.scores(node)[0] or 0.0) <= most:
            return False
        outputs = self.facts.divergent(node).outputs
        prints = self.ledger.fingerprints(self.facts.paired.problem_values(outputs))
        if prints <= self.ledger.rounding:
            return False
        return not self.scored.hands_on_distance(node)
