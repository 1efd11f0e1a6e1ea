"""Walks one compared (step, rank) in execution order and names where a difference begins.

Each divergent node either starts a finding or is a carrier of one: of the call that produced its
divergent input, of a call inside it, or of the latest finding before it.
"""

from __future__ import annotations

from typing import Literal

from builder.compare import Comparison
from builder.diagnosis.evidence import DivergentRows, Evidence, nonfinite_state
from builder.diagnosis.finding import Finding, FindingKind, phase_of
from builder.diagnosis.lineage import Producers
from builder.match.values import SURPLUS
from builder.reasons import Reason
from builder.tree import TreeNode
from msprobe_core.format import EntryName

THRESHOLD = 0.25


def walk(comparison: Comparison, threshold: float = THRESHOLD) -> list[Finding]:
    """The findings of one comparison in order; carriers stand in each finding's `carriers`."""
    state = _Walk(Evidence(comparison, threshold))
    for node in comparison.matching.problem.in_order:
        if node.kind != "root":
            state.visit(node)
    for finding in state.findings:
        finding.propagated_to = len(finding.carriers)
    return sorted(state.findings, key=Finding.sort_key)


class _Walk:
    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.matching = evidence.comparison.matching
        self.values = self.matching.problem.dump.values
        self.findings: list[Finding] = []
        self.source: dict[TreeNode, Finding] = {}
        self.unmatched: list[TreeNode] = []
        self.other_precision: list[TreeNode] = []
        self.producers = Producers(self.matching.problem)
        self.benchmark_producers = Producers(self.matching.benchmark)
        self.compared = False

    def visit(self, node: TreeNode) -> None:
        """Judge one node; its outputs become known to the nodes after it."""
        partner = self.matching.partner.get(node)
        if partner is None:
            self._visit_unmatched(node)
        else:
            self.benchmark_producers.reach(partner)
            self._visit_matched(node)
        self.producers.reach(node)

    # Unmatched nodes have no score: they matter as makers of NaN and as causes of what follows.
    def _visit_unmatched(self, node: TreeNode) -> None:
        cause = (
            self._cause_by_lineage(range(*node.values))
            or self._cause_inside(node)
            or self._cause_in_forward(node)
        )
        if cause is not None:
            self._carry(cause, node)
        elif self._unmatched_makes_nonfinite(node):
            self._start_nonfinite(node)
        self.unmatched.append(node)

    def _visit_matched(self, node: TreeNode) -> None:
        rows = self.evidence.divergent(node)
        if self.evidence.changes_precision(node):
            self.other_precision.append(node)
        inside = self._cause_inside(node)
        if rows.outputs and self._makes_nonfinite(node, inside):
            self._start_nonfinite(node)
        elif rows.parameters and node not in self.source:
            reason = self.evidence.score_reason("parameter_differs", rows.parameters)
            self._start(node, "parameter_differs", reason)
        elif rows.inputs:
            self._visit_divergent_input(node, rows, inside)
        elif rows.outputs:
            self._visit_divergent_output(node, rows, inside)
        self.compared = self.compared or bool(self.evidence.rows(node))

    def _visit_divergent_input(
        self, node: TreeNode, rows: DivergentRows, inside: Finding | None
    ) -> None:
        cause = (
            self._cause_by_lineage(self.evidence.problem_values(rows.inputs))
            or inside
            or self._start_from_unmatched(node, rows)
            or self._start_from_parameter(node, rows)
            or self._latest()
            or self._start_input(node, rows)
        )
        self._carry(cause, node)

    def _visit_divergent_output(
        self, node: TreeNode, rows: DivergentRows, inside: Finding | None
    ) -> None:
        outputs = self.evidence.problem_values(rows.outputs)
        cause = inside or self._cause_by_lineage(outputs) or self._cause_in_forward(node)
        score, before = self.evidence.scores(node)
        assert score is not None
        grown = score - (before or 0.0) > self.evidence.threshold
        if cause is None and not grown and not rows.arguments:
            cause = self._latest()
        if cause is None and rows.arguments:
            cause = self._start(
                node, "argument_differs", self.evidence.argument_reason(rows.arguments[0])
            )
        if cause is None and node.kind == "module":
            cause = self._start_from_unmatched(node, rows)
        if cause is None and grown:
            reason = self.evidence.score_reason("introduced", rows.outputs)
            cause = self._start(node, "introduced", {**reason, "input_score": before or 0.0})
        if cause is not None:
            self._carry(cause, node)

    # --- what explains a divergence -------------------------------------------------------------

    def _cause_by_lineage(self, indices: range | list[int]) -> Finding | None:
        for index in indices:
            if index == SURPLUS:
                continue
            producer = self.producers.of(index)
            if producer is not None and producer in self.source:
                return self.source[producer]
            if self.findings and nonfinite_state(self.values.records[index]):
                # NaN has no fingerprint; what made the latest one is the natural cause.
                return self._latest_nonfinite()
        return None

    def _latest_nonfinite(self) -> Finding | None:
        made = (finding for finding in reversed(self.findings) if finding.kind == "non_finite")
        return next(made, None)

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
            carried = self._cause_of_gradient(node, node.entry)
            if carried is not None:
                return carried
        forward = self.matching.problem.by_name.get(node.entry.twin("forward"))
        if forward is None:
            return None
        if forward in self.source:
            return self.source[forward]
        score, before = self.evidence.scores(forward)
        diverged = max(score or 0.0, before or 0.0) > self.evidence.threshold
        return self._latest() if diverged else None

    def _cause_of_gradient(self, node: TreeNode, entry: EntryName) -> Finding | None:
        # A parameter's gradient fires before its module's backward entry is complete, so the
        # gradient that flows into the module is looked up ahead of its turn.
        beside = self._cause_inside(node.parent) if node.parent is not None else None
        if beside is not None:
            return beside
        module = self.matching.problem.by_name.get(entry.twin("backward")) or node.parent
        if module is None or module.kind == "root" or not self.evidence.rows(module):
            return self._latest()
        inputs = self.evidence.divergent(module).inputs
        if not inputs:
            return None
        return self._cause_by_lineage(self.evidence.problem_values(inputs)) or self._latest()

    def _latest(self) -> Finding | None:
        return self.findings[-1] if self.findings else None

    # --- starting findings ----------------------------------------------------------------------

    def _start(
        self,
        node: TreeNode,
        kind: FindingKind,
        reason: Reason,
        score: float | None = None,
        affected: TreeNode | None = None,
    ) -> Finding:
        """Name a node; `affected` is the problem node that a benchmark-only call matters to."""
        side: Literal["problem", "benchmark"] = "benchmark" if affected else "problem"
        own, before = (None, None) if affected else self.evidence.scores(node)
        order = (affected or node).exec_order
        own = score if score is not None else own
        finding = Finding(kind, node, side, order, [reason], own, before)
        self.findings.append(finding)
        if affected is None:
            self.source[node] = finding
        self.unmatched.clear()
        self.other_precision.clear()
        return finding

    def _carry(self, cause: Finding, node: TreeNode) -> None:
        if cause.node is not node and node not in self.source:
            self.source[node] = cause
            cause.carriers.append(node)

    def _start_nonfinite(self, node: TreeNode) -> None:
        value, state = self._nonfinite_output(node)
        reason: Reason = {"code": "nonfinite_made", "value": value, "state": state}
        self._start(node, "non_finite", reason, score=1.0)

    def _start_from_unmatched(self, node: TreeNode, rows: DivergentRows) -> Finding | None:
        # An unmatched call has no score of its own: what its value does to its reader stands in.
        worst = self.evidence.worst(rows.inputs or rows.outputs)
        score = float(self.evidence.comparison.score[worst])
        extra = self._unmatched_producer(rows)
        run = self._run_up_to(extra) if extra is not None else self._latest_run(node)
        if run:
            names = ", ".join(call.name for call in run[-5:])
            reason: Reason = {"code": "extra_calls", "names": names}
            return self._start(run[-1], "input_differs", reason, score)
        missing = self._missing_producer(rows)
        if missing is not None:
            reason = {"code": "missing_calls", "names": missing.name}
            return self._start(missing, "input_differs", reason, score, affected=node)
        if self.other_precision:
            changed = self.other_precision[-1]
            return self._start(changed, "precision", self.evidence.precision_reason(changed))
        return None

    def _unmatched_producer(self, rows: DivergentRows) -> TreeNode | None:
        pairs = self.evidence.comparison.pairs
        for row in rows.inputs or rows.outputs:
            producer = self.producers.of(pairs.problem[row])
            if producer is not None and producer not in self.matching.partner:
                return producer
        return None

    def _missing_producer(self, rows: DivergentRows) -> TreeNode | None:
        pairs = self.evidence.comparison.pairs
        for row in rows.inputs or rows.outputs:
            producer = self.benchmark_producers.of(pairs.benchmark[row])
            if producer is not None and producer not in self.matching.partner:
                return producer
        return None

    def _run_up_to(self, last: TreeNode) -> list[TreeNode]:
        run = [last]
        for node in reversed(self.unmatched):
            if node.exec_order == run[0].exec_order - 1 and node.kind == "api":
                run.insert(0, node)
        return run

    def _latest_run(self, node: TreeNode) -> list[TreeNode]:
        # Without lineage only calls of the same pass and right before the node are suspects.
        calls = [
            call
            for call in self.unmatched
            if call.kind == "api" and call.direction == node.direction
        ]
        if not calls or self._compared_between(calls[-1], node):
            return []
        return self._run_up_to(calls[-1])

    def _compared_between(self, first: TreeNode, last: TreeNode) -> bool:
        between = self.matching.problem.in_order[first.exec_order + 1 : last.exec_order]
        return any(node.kind == "api" and self.evidence.rows(node) for node in between)

    def _start_from_parameter(self, node: TreeNode, rows: DivergentRows) -> Finding | None:
        owner = node.parent
        while owner is not None and owner.kind == "module":
            parameters = self.evidence.divergent(owner).parameters
            if self.evidence.share_a_value(parameters, rows.inputs):
                reason = self.evidence.score_reason("parameter_differs", parameters)
                return self._start(owner, "parameter_differs", reason)
            owner = owner.parent
        return None

    def _start_input(self, node: TreeNode, rows: DivergentRows) -> Finding:
        fed = not self.compared or self.evidence.is_integer(self.evidence.worst(rows.inputs))
        model_input = fed and node.direction == "forward" and phase_of(node) == "forward"
        code = "batch_differs" if model_input else "input_differs"
        return self._start(node, "input_differs", self.evidence.score_reason(code, rows.inputs))

    def _makes_nonfinite(self, node: TreeNode, inside: Finding | None) -> bool:
        return (
            self.evidence.makes_nonfinite(node)
            and inside is None
            and self._cause_in_forward(node) is None
        )

    def _unmatched_makes_nonfinite(self, node: TreeNode) -> bool:
        return bool(self._nonfinite_output(node)[0]) and not any(
            nonfinite_state(self.values.records[index])
            for index in range(*node.values)
            if not self.values.keys[index].startswith("output")
        )

    def _nonfinite_output(self, node: TreeNode) -> tuple[str, str]:
        for index in range(*node.values):
            key, state = self.values.keys[index], nonfinite_state(self.values.records[index])
            if state and key.startswith(("output", "parameters_grad")):
                return key, state
        return "", ""
