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
from builder.diagnosis.suspects import Suspect, Suspects
from builder.match.nodes import Matching
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
        self.suspects = Suspects(evidence, self.matching)
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
            self.suspects.follow(node)
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
        if node.kind == "api":
            self.suspects.add("extra", node)

    def _visit_matched(self, node: TreeNode) -> None:
        rows = self.evidence.divergent(node)
        if self.evidence.changes_precision(node) and not self._reads_precision(node):
            self.suspects.add("precision", node)
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
        elif rows.arguments:
            self.suspects.add("argument", node)
        if self.evidence.rows(node):
            self.compared = True
            self.suspects.compared(node)

    def _visit_divergent_input(
        self, node: TreeNode, rows: DivergentRows, inside: Finding | None
    ) -> None:
        cause = (
            self._cause_by_lineage(self.evidence.problem_values(rows.inputs))
            or inside
            or self._forward_finding(node)
            or self._start_from_suspect(node, rows)
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
        if cause is None and rows.arguments:
            cause = self._start(
                node, "argument_differs", self.evidence.argument_reason(rows.arguments[0])
            )
        if cause is None:
            cause = self._carried(node, before or 0.0, grown)
        if cause is None:
            cause = self._start_from_suspect(node, rows)
        if cause is None and grown:
            cause = self._start_hidden(node, rows)
            reason = self.evidence.score_reason("introduced", rows.outputs)
            cause = cause or self._start(
                node, "introduced", {**reason, "input_score": before or 0.0}
            )
        if cause is not None:
            self._carry(cause, node)

    def _carried(self, node: TreeNode, before: float, grown: bool) -> Finding | None:
        """The earlier finding that a difference grew out of, where nothing more precise is known.

        Inputs outside the tolerance were touched by an earlier finding.
        """
        forward = self._forward_finding(node)
        if forward is not None:
            return forward
        return self._latest() if before > 0 or not grown else None

    def _forward_finding(self, node: TreeNode) -> Finding | None:
        """The first finding of the forward pass before a gradient, which comes from its loss."""
        if node.direction != "backward":
            return None
        of_step = (f for f in self.findings if f.node.micro_step == node.micro_step)
        return next((f for f in of_step if phase_of(f.node) == "forward"), None)

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
        self.suspects.clear()
        return finding

    def _carry(self, cause: Finding, node: TreeNode) -> None:
        if cause.node is not node and node not in self.source:
            self.source[node] = cause
            cause.carriers.append(node)

    def _start_nonfinite(self, node: TreeNode) -> None:
        value, state = self._nonfinite_output(node)
        reason: Reason = {"code": "nonfinite_made", "value": value, "state": state}
        self._start(node, "non_finite", reason, score=1.0)

    def _start_from_suspect(self, node: TreeNode, rows: DivergentRows) -> Finding | None:
        # A call without partner has no score of its own: what its value does to its reader stands
        # in for it.
        worst = self.evidence.worst(rows.inputs or rows.outputs)
        score = float(self.evidence.comparison.score[worst])
        suspect = (
            self._producing_suspect(rows)
            or (self.suspects.inside(node) if not rows.inputs else None)
            or self.suspects.behind(node)
            or self._suspect_in_forward(node)
        )
        if suspect is None:
            return None
        return self._start_suspect(suspect, node, score)

    def _start_suspect(self, suspect: Suspect, node: TreeNode, score: float) -> Finding:
        found = _outermost(suspect.node, self.matching)
        if suspect.kind == "argument":
            row = self.evidence.divergent(found).arguments[0]
            return self._start(found, "argument_differs", self.evidence.argument_reason(row))
        if suspect.kind == "precision":
            return self._start(found, "precision", self.evidence.precision_reason(found))
        names = ", ".join(call.name for call in self.suspects.run(suspect)[-5:])
        if suspect.kind == "extra":
            reason: Reason = {"code": "extra_calls", "names": names}
            return self._start(found, "input_differs", reason, score)
        reason = {"code": "missing_calls", "names": names}
        return self._start(found, "input_differs", reason, score, affected=node)

    def _suspect_in_forward(self, node: TreeNode) -> Suspect | None:
        """A forward twin with another argument or precision that only its gradient shows."""
        if node.direction != "backward" or node.entry is None:
            return None
        forward = self.matching.problem.by_name.get(node.entry.twin("forward"))
        return self.suspects.named(forward, "argument", "precision") if forward else None

    def _producing_suspect(self, rows: DivergentRows) -> Suspect | None:
        """The suspect whose very value is read here, on either side."""
        pairs = self.evidence.comparison.pairs
        for row in rows.inputs or rows.outputs:
            for producer in (
                self.producers.of(pairs.problem[row]),
                self.benchmark_producers.of(pairs.benchmark[row]),
            ):
                suspect = self.suspects.named(producer) if producer is not None else None
                if suspect is not None:
                    return suspect
        return None

    def _start_hidden(self, node: TreeNode, rows: DivergentRows) -> Finding | None:
        """Name the call that put infinities into an input: behind them statistics see nothing."""
        for row in self.evidence.hidden_inputs(node):
            index = self.evidence.comparison.pairs.problem[row]
            producer = self.producers.of(index)
            if producer is None or producer in self.source:
                continue
            worst = self.evidence.worst(rows.outputs)
            score = float(self.evidence.comparison.score[worst])
            key = self.evidence.comparison.keys[row]
            reason: Reason = {"code": "hidden_by_infinity", "value": key, "reader": node.name}
            return self._start(producer, "introduced", reason, score)
        return None

    def _reads_precision(self, node: TreeNode) -> bool:
        """Whether another dtype comes from a call that is a suspect for it already."""
        differing = self.evidence.differing_dtypes(node, outputs=False)
        producers = (
            self.producers.of(self.evidence.comparison.pairs.problem[r]) for r in differing
        )
        return any(
            producer is not None and self.evidence.differing_dtypes(producer, outputs=True)
            for producer in producers
        )

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


def _outermost(node: TreeNode, matching: Matching) -> TreeNode:
    """The whole module where a whole module is extra or missing, else the call itself."""
    while (
        node not in matching.partner
        and node.parent is not None
        and node.parent.kind == "module"
        and node.parent.entry is not None
        and node.parent not in matching.partner
    ):
        node = node.parent
    return node
