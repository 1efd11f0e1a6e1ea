"""Collects the findings of a walk: names a node, with the reason that fits the evidence."""

from __future__ import annotations

from typing import Literal

from builder.diagnosis.divergence import DivergentRows
from builder.diagnosis.evidence import Evidence
from builder.diagnosis.finding import Finding, FindingKind, phase_of
from builder.diagnosis.lineage import NO_PRINT, Producers
from builder.diagnosis.rows import nonfinite_state
from builder.diagnosis.scaling import ScaledGradients
from builder.diagnosis.suspects import Suspect, Suspects
from builder.dump.forms import OUTPUT_ROLES
from builder.match.nodes import Matching
from builder.match.values import SURPLUS
from builder.overflow import is_exempt
from builder.reasons import Reason
from builder.tree import TreeNode

# How many calls a difference inside the tolerance is followed upstream.
_UPSTREAM = 16


class Findings:
    """The state of a walk: findings, what carries them, and what is tolerated.

    `source` maps a node to the finding that it belongs to. `tolerated` holds fingerprints of values
    that differ without a finding, by number; `rounding` those of them that differ by rounding
    alone.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.matching = evidence.comparison.matching
        self.values = self.matching.problem.dump.values
        self.findings: list[Finding] = []
        self._strong: Finding | None = None
        self._nonfinite: Finding | None = None
        self._in_forward: dict[int, Finding] = {}
        self.source: dict[TreeNode, Finding] = {}
        self.suspects = Suspects(evidence, self.matching)
        self.tolerated: set[int] = set()
        self.rounding: set[int] = set()
        self.scaled = ScaledGradients()
        self.reselected = False
        ours, theirs = evidence.comparison.columns
        forms = evidence.comparison.forms.listed()
        self.producers = Producers(self.matching.problem, ours, forms)
        self.benchmark_producers = Producers(self.matching.benchmark, theirs, forms)
        self.compared = False

    def _is_rounding(self, node: TreeNode) -> bool:
        rows = self.evidence.divergent(node).outputs
        return self.fingerprints(self.evidence.problem_values(rows)) <= self.rounding

    def tolerate(self, indices: list[int], rounding: bool = False) -> None:
        """Let a difference pass that is rounding, or grew too slowly to have begun here."""
        if not indices:
            return
        keys = self.fingerprints(indices) - {NO_PRINT}
        self.tolerated |= keys
        if rounding:
            self.rounding |= keys
        for index in indices:
            if index != SURPLUS and self.values.keys[index].startswith("parameters_grad"):
                self.scaled.add(self.values.records[index])

    def fingerprints(self, indices: list[int]) -> set[int]:
        numbers = self.producers.prints.numbers
        return {numbers[index] for index in indices if index != SURPLUS}

    def start(
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
        if kind in ("parameter_differs", "input_differs") and affected is None:
            rows = self.evidence.divergent(node)
            indices = self.evidence.problem_values(rows.parameters or rows.inputs)
            inherits = self.fingerprints(indices) - self.tolerated
            finding.inherits = self.producers.prints.keys(inherits)
        self.findings.append(finding)
        if kind == "parameter_differs":
            finding.is_weak = not self.evidence.divergent(node).outputs
        if affected is None:
            self.source[node] = finding
        self._remember(finding)
        self.suspects.clear()
        return finding

    def _remember(self, finding: Finding) -> None:
        # There may be a finding per parameter and a question per node: nobody searches the list.
        if not finding.is_weak:
            self._strong = finding
            if phase_of(finding.node) == "forward":
                self._in_forward.setdefault(finding.node.micro_step, finding)
        if finding.kind == "non_finite":
            self._nonfinite = finding

    def latest(self, weak: bool = False) -> Finding | None:
        """The latest finding that may explain others; with `weak` any, where there is none."""
        return self._strong or (self.findings[-1] if weak and self.findings else None)

    def latest_nonfinite(self) -> Finding | None:
        """The latest call that made NaN or Inf."""
        return self._nonfinite

    def first_in_forward(self, micro_step: int) -> Finding | None:
        """The first finding of a forward pass that may explain others."""
        return self._in_forward.get(micro_step)

    def carry(self, cause: Finding, node: TreeNode) -> None:
        if cause.node is not node and node not in self.source:
            self.source[node] = cause
            cause.carriers.append(node)

    def start_nonfinite(self, node: TreeNode) -> None:
        value, state = self._nonfinite_output(node)
        reason: Reason = {"code": "nonfinite_made", "value": value, "state": state}
        self.start(node, "non_finite", reason, score=1.0)

    def start_from_suspect(self, node: TreeNode, rows: DivergentRows) -> Finding | None:
        # A call without partner has no score of its own: what its value does to its reader stands
        # in for it.
        worst = self.evidence.worst(rows.inputs or rows.outputs)
        score = float(self.evidence.comparison.score[worst])
        suspect = (
            self.producing_suspect(rows)
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
            return self.start(found, "argument_differs", self.evidence.argument_reason(row))
        if suspect.kind == "precision":
            return self.start(found, "precision", self.evidence.precision_reason(found))
        names = ", ".join(call.name for call in self.suspects.run(suspect)[-5:])
        if suspect.kind == "extra":
            reason: Reason = {"code": "extra_calls", "names": names}
            return self.start(found, "input_differs", reason, score)
        reason = {"code": "missing_calls", "names": names}
        return self.start(found, "input_differs", reason, score, affected=node)

    def _suspect_in_forward(self, node: TreeNode) -> Suspect | None:
        """A forward twin with another argument or precision that only its gradient shows."""
        forward = node.forward
        return self.suspects.named(forward, "argument", "precision") if forward else None

    def producing_suspect(self, rows: DivergentRows) -> Suspect | None:
        """The suspect whose very value is read here, on either side."""
        for row in rows.inputs or rows.outputs:
            ours, theirs = self.evidence.value_pair(row)
            for producer in (self.producers.of(ours), self.benchmark_producers.of(theirs)):
                suspect = self.suspects.named(producer) if producer is not None else None
                if suspect is not None:
                    return suspect
        return None

    def start_hidden(self, node: TreeNode, rows: DivergentRows) -> Finding | None:
        """Name the call that put infinities into an input: behind them statistics see nothing."""
        for row in self.evidence.hidden_inputs(node):
            producer = self.producers.of(self.evidence.value_pair(row)[0])
            if producer is None or producer in self.source:
                continue
            worst = self.evidence.worst(rows.outputs)
            score = float(self.evidence.comparison.score[worst])
            key = self.evidence.comparison.keys[row]
            reason: Reason = {"code": "hidden_by_infinity", "value": key, "reader": node.name}
            return self.start(producer, "introduced", reason, score)
        return None

    def reads_precision(self, node: TreeNode) -> bool:
        """Whether another dtype comes from a call that is a suspect for it already."""
        differing = self.evidence.differing_dtypes(node, outputs=False)
        producers = (self.producers.of(index) for index in self.evidence.problem_values(differing))
        return any(
            producer is not None and self.evidence.differing_dtypes(producer, outputs=True)
            for producer in producers
        )

    def start_from_parameter(self, node: TreeNode, rows: DivergentRows) -> Finding | None:
        owner = self._owner_of(node, rows.inputs)
        if owner is None:
            return None
        parameters = self.evidence.divergent(owner).parameters
        reason = self.evidence.score_reason("parameter_differs", parameters)
        return self.start(owner, "parameter_differs", reason)

    def _owner_of(self, node: TreeNode, inputs: list[int]) -> TreeNode | None:
        """The module around a call whose differing parameter the call reads."""
        owner = node.parent
        while owner is not None and owner.kind == "module":
            if self.evidence.share_a_value(self.evidence.divergent(owner).parameters, inputs):
                return owner
            owner = owner.parent
        return None

    def start_fed(self, node: TreeNode, rows: DivergentRows) -> Finding | None:
        """Name a node that reads other data: the first one, or one whose integers nobody made."""
        worst = self.evidence.worst(rows.inputs)
        foreign = self.evidence.is_integer(worst) and not self._is_vouched(worst)
        if (self.compared and not foreign) or phase_of(node) != "forward":
            return None
        reason = self.evidence.score_reason("batch_differs", rows.inputs)
        return self.start(node, "input_differs", reason)

    def start_other_data(self, node: TreeNode) -> Finding | None:
        """Name a node whose integers differ inside the tolerance: they are not to be rounded."""
        if self.findings or self.reselected or phase_of(node) != "forward":
            return None
        changed = self.evidence.changed_integers(node)
        foreign = next((row for row in changed if not self._is_vouched(row)), None)
        if foreign is None:
            return None
        key = self.evidence.comparison.keys[foreign]
        return self.start(node, "input_differs", {"code": "integers_differ", "value": key})

    def _is_vouched(self, row: int) -> bool:
        """Whether partners made both sides of a value; small integers share theirs by chance."""
        ours, theirs = self.evidence.value_pair(row)
        made = self.producers.of(ours)
        other = self.benchmark_producers.of(theirs)
        return made is not None and self.matching.partner.get(made) is other

    def start_exact(self, node: TreeNode, rows: DivergentRows) -> Finding | None:
        """Name the call upstream where two runs that agreed to the last digit begin to differ."""
        reached = node
        for _ in range(_UPSTREAM):
            inexact = self.evidence.inexact_inputs(reached)
            made = (self.producers.of(self.evidence.value_pair(row)[0]) for row in inexact)
            before = next((n for n in made if n is not None and n is not reached), None)
            if before is None or before in self.source:
                return None
            reached = before
            if self.evidence.begins_inexactness(reached):
                worst = self.evidence.worst(rows.outputs)
                score = float(self.evidence.comparison.score[worst])
                key = self.evidence.inexact_output(reached)
                reason: Reason = {"code": "first_inexact", "value": key, "reader": node.name}
                return self.start(reached, "introduced", reason, score)
        return None

    def start_input(self, node: TreeNode, rows: DivergentRows) -> Finding:
        reason = self.evidence.score_reason("input_differs", rows.inputs)
        return self.start(node, "input_differs", reason)

    def late_suspect(self) -> Finding | None:
        """A call of the optimizer that one side alone makes: the next step shows its effect."""
        left = [s for s in self.suspects.left_over() if phase_of(s.node) == "after"]
        kinds = [s for s in left if s.kind in ("extra", "missing", "argument")]
        if not kinds:
            return None
        finding = self._start_suspect(kinds[-1], self.matching.problem.in_order[-1], 0.0)
        self.findings.clear()
        self.source.clear()
        return finding

    def find_drift(self, nodes: list[TreeNode]) -> None:
        """Name the steepest node of a difference that grew too slowly to begin anywhere."""
        drifted = [n for n in nodes if self._has_drifted(n)]
        if drifted:
            steepest = max(
                drifted, key=lambda n: (self.evidence.scores(n)[0] or 0.0) - self.evidence.reads(n)
            )
            rows = self.evidence.divergent(steepest).outputs
            reason = self.evidence.score_reason("drift", rows)
            self.start(steepest, "introduced", reason)

    def _has_drifted(self, node: TreeNode) -> bool:
        # Gradients take the rounding of two passes along.
        most = (2.0 if phase_of(node) == "forward" else 3.0) * self.evidence.threshold
        if (self.evidence.scores(node)[0] or 0.0) <= most or self._is_rounding(node):
            return False
        outputs = self.evidence.divergent(node).outputs
        return not (self.reselected and all(self.evidence.is_reshaped(row) for row in outputs))

    def unmatched_makes_nonfinite(self, node: TreeNode) -> bool:
        if is_exempt(node) or node.recomputed:
            return False
        return bool(self._nonfinite_output(node)[0]) and not any(
            nonfinite_state(self.values.records[index])
            for index in range(*node.values)
            if not self.values.keys[index].startswith("output")
        )

    def _nonfinite_output(self, node: TreeNode) -> tuple[str, str]:
        for index in range(*node.values):
            key, state = self.values.keys[index], nonfinite_state(self.values.records[index])
            if state and key.startswith(OUTPUT_ROLES):
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
