"""Walks one compared (step, rank) in execution order and names where a difference begins.

Each divergent node either starts a finding or is a carrier of one: of the call that produced its
divergent input, of a call inside it, or of the latest finding before it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from builder.compare import Comparison
from builder.diagnosis.divergence import DivergentRows
from builder.diagnosis.evidence import Evidence
from builder.diagnosis.finding import Finding, phase_of
from builder.diagnosis.naming import Findings
from builder.match.values import SURPLUS
from builder.tree import TreeNode

THRESHOLD = 0.25


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk found.

    `tolerated` are fingerprints of values that differ without a finding, which the next step may
    inherit; `late` is a suspect of the optimizer that only the next step can confirm.
    """

    findings: list[Finding]
    tolerated: frozenset[Hashable]
    late: Finding | None


def walk(comparison: Comparison, threshold: float = THRESHOLD) -> Walked:
    """The findings of one comparison in order; carriers stand in each finding's `carriers`."""
    state = _Walk(Evidence(comparison, threshold))
    nodes = [n for n in comparison.matching.problem.in_order if n.kind != "root"]
    for node in nodes:
        state.visit(node)
    late = state.late_suspect() if not state.findings else None
    if not state.findings:
        state.find_drift(nodes)
    for finding in state.findings:
        finding.propagated_to = len(finding.carriers)
    found = sorted(state.findings, key=Finding.sort_key)
    tolerated = state.producers.prints.keys(state.tolerated)
    return Walked(found, tolerated, late)


class _Walk(Findings):
    def visit(self, node: TreeNode) -> None:
        """Judge one node; its outputs become known to the nodes after it."""
        partner = self.matching.partner.get(node)
        if partner is None:
            self._visit_unmatched(node)
        else:
            if partner.exec_order >= self.benchmark_producers.reached:
                self.benchmark_producers.reached = partner.exec_order + 1
                self.suspects.follow(node, partner)
            if self.evidence.is_noteworthy(node):
                cause = self._cause_at_once(node)
                if cause is not None:
                    self.carry(cause, node)
                else:
                    self._visit_matched(node)
                self.tolerate(self.evidence.forgiven(node), rounding=True)
            if self.evidence.rows(node):
                self.compared = True
                self.suspects.compared(node)
        self.producers.reached = node.exec_order + 1

    # Unmatched nodes have no score: they matter as makers of NaN and as causes of what follows.
    def _visit_unmatched(self, node: TreeNode) -> None:
        cause = (
            self._cause_by_lineage(range(*node.values))
            or self._cause_inside(node)
            or self._cause_in_forward(node)
        )
        if cause is not None:
            self.carry(cause, node)
        elif self.unmatched_makes_nonfinite(node):
            self.start_nonfinite(node)
        if node.kind == "api":
            self.suspects.add("extra", node)

    def _cause_at_once(self, node: TreeNode) -> Finding | None:
        """What `_visit_matched` would find first for most nodes behind a divergence."""
        row = self.evidence.plain_input(node)
        if row is None or phase_of(node) == "after":
            return None
        ours, _ = self.evidence.value_pair(row)
        reshaped = self.reselected and self.evidence.is_reshaped(row)
        if reshaped or self.producers.prints.numbers[ours] in self.tolerated:
            return None
        producer = self.producers.of(ours)
        return self.source.get(producer) if producer is not None else None

    def _visit_matched(self, node: TreeNode) -> None:
        rows = self.evidence.divergent(node)
        if self.evidence.changes_precision(node) and not self.reads_precision(node):
            self.suspects.add("precision", node)
        inside = self._cause_inside(node)
        if rows.outputs and self._makes_nonfinite(node, inside):
            self.start_nonfinite(node)
        elif rows.parameters and node not in self.source:
            reason = self.evidence.score_reason("parameter_differs", rows.parameters)
            self.start(node, "parameter_differs", reason)
        elif rows.inputs:
            self._visit_divergent_input(node, rows, inside)
        elif self.start_other_data(node):
            pass
        elif rows.outputs:
            self._visit_divergent_output(node, rows, inside)
        elif rows.arguments:
            self.suspects.add("argument", node)

    def _visit_divergent_input(
        self, node: TreeNode, rows: DivergentRows, inside: Finding | None
    ) -> None:
        inputs = self.evidence.problem_values(rows.inputs)
        scaled = self._scaled_gradients(node, rows.inputs)
        known = all(
            row in scaled
            or self._is_tolerated(row)
            or (self.reselected and self.evidence.is_reshaped(row))
            for row in rows.inputs
        )
        if known and not self.producing_suspect(rows):
            others = self.evidence.problem_values([r for r in rows.inputs if r not in scaled])
            rounding = self.fingerprints(others) <= self.rounding
            self.tolerate(self.evidence.problem_values(rows.outputs), rounding)
            return
        cause = (
            self._cause_by_lineage(inputs)
            or inside
            or self._forward_finding(node)
            or self.start_from_suspect(node, rows)
            or self.start_from_parameter(node, rows)
            or self.start_fed(node, rows)
            or self.latest(weak=True)
            or (self.start_input(node, rows) if self._is_unexplained(node, rows) else None)
        )
        if cause is not None:
            self.carry(cause, node)
        else:
            self.tolerate(self.evidence.problem_values(rows.outputs))

    def _visit_divergent_output(
        self, node: TreeNode, rows: DivergentRows, inside: Finding | None
    ) -> None:
        outputs = self.evidence.problem_values(rows.outputs)
        if inside is None and node.children and self.fingerprints(outputs) <= self.tolerated:
            return  # a module hands on what a call inside it was let off with
        cause = inside or self._cause_by_lineage(outputs) or self._cause_in_forward(node)
        score, _ = self.evidence.scores(node)
        assert score is not None
        before = self.evidence.reads(node)
        # What is off already may grow by as much again without a fault of its own.
        grown = score - before > self.evidence.threshold + before
        if phase_of(node) != "forward":
            grown = grown and self.evidence.is_clear(rows.outputs)
        if cause is None and rows.arguments:
            cause = self.start(
                node, "argument_differs", self.evidence.argument_reason(rows.arguments[0])
            )
        if cause is None:
            cause = self._carried(node, before, grown)
        if cause is None:
            cause = self.start_from_suspect(node, rows)
        if cause is None and grown and not self.evidence.is_selection(node):
            cause = self.start_hidden(node, rows) or self.start_exact(node, rows)
            reason = self.evidence.score_reason("introduced", rows.outputs)
            cause = cause or self.start(node, "introduced", {**reason, "input_score": before})
        if cause is not None:
            self.carry(cause, node)
        else:
            self.reselected = self.reselected or self.evidence.is_selection(node)
            self.tolerate(outputs, rounding=self.evidence.is_selection(node))

    def _is_unexplained(self, node: TreeNode, rows: DivergentRows) -> bool:
        # Where rounding picked other elements, their gradients differ and nothing recorded says so.
        if self.reselected and phase_of(node) == "backward":
            score = self.evidence.comparison.score[rows.inputs].max()
            return bool(score > 3 * self.evidence.threshold)
        return self.evidence.is_clear(rows.inputs)

    def _is_tolerated(self, row: int) -> bool:
        """Whether an input is known to differ for no reason that would be a finding.

        It was judged where it was made, unless the two sides read what different calls made.
        """
        ours, theirs = self.evidence.value_pair(row)
        if ours == SURPLUS or self.producers.prints.numbers[ours] in self.tolerated:
            return True
        producer = self.producers.of(ours)
        if producer is None or producer in self.source:
            return False
        return self.matching.partner.get(producer) is self.benchmark_producers.of(theirs)

    def _scaled_gradients(self, node: TreeNode, rows: list[int]) -> list[int]:
        if phase_of(node) != "after":
            return []
        return [row for row in rows if self.scaled.knows(self.evidence.ours[row])]

    def _carried(self, node: TreeNode, before: float, grown: bool) -> Finding | None:
        """The earlier finding that a difference grew out of, where nothing more precise is known.

        Inputs outside the tolerance were touched by an earlier finding.
        """
        forward = self._forward_finding(node)
        if forward is not None:
            return forward
        return self.latest(weak=before > 0) if before > 0 or not grown else None

    def _forward_finding(self, node: TreeNode) -> Finding | None:
        """The first finding of the forward pass before a gradient, which comes from its loss."""
        if node.direction != "backward":
            return None
        return self.first_in_forward(node.micro_step)

    # --- what explains a divergence -------------------------------------------------------------

    def _cause_by_lineage(self, indices: range | list[int]) -> Finding | None:
        for index in indices:
            if index == SURPLUS:
                continue
            producer = self.producers.of(index)
            if producer is not None and producer in self.source:
                return self.source[producer]
            if self.findings and self.evidence.is_nonfinite(index):
                # NaN has no fingerprint; what made the latest one is the natural cause.
                return self.latest_nonfinite()
        return None

    def _cause_inside(self, node: TreeNode) -> Finding | None:
        if not self.findings:
            return None
        found = (self.source[child] for child in node.children if child in self.source)
        return next(found, None)

    def _cause_in_forward(self, node: TreeNode) -> Finding | None:
        # A backward call reads activations that its own entry does not list.
        if node.direction != "backward" or node.entry is None or not self.findings:
            return None
        if node.entry.kind == "parameters_grad":
            carried = self._cause_of_gradient(node)
            if carried is not None:
                return carried
        forward = node.forward
        if forward is None:
            return None
        if forward in self.source:
            return self.source[forward]
        score, before = self.evidence.scores(forward)
        diverged = max(score or 0.0, before or 0.0) > self.evidence.threshold
        return self.latest() if diverged else None

    def _cause_of_gradient(self, node: TreeNode) -> Finding | None:
        # A parameter's gradient fires before its module's backward entry is complete, so the
        # gradient that flows into the module is looked up ahead of its turn.
        beside = self._cause_inside(node.parent) if node.parent is not None else None
        if beside is not None:
            return beside
        module = node.backward or node.parent
        if module is None or module.kind == "root" or not self.evidence.rows(module):
            return self.latest()
        inputs = self.evidence.divergent(module).inputs
        if not inputs:
            return None
        return self._cause_by_lineage(self.evidence.problem_values(inputs)) or self.latest()

    def _makes_nonfinite(self, node: TreeNode, inside: Finding | None) -> bool:
        return (
            self.evidence.makes_nonfinite(node)
            and inside is None
            and self._cause_in_forward(node) is None
        )
