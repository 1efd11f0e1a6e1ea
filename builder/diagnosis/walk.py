"""Walks one compared (step, rank) in execution order and names where a difference begins.

Each divergent node either starts a finding or is a carrier of one: of the call that produced its
divergent input, of a call inside it, or of the latest finding before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from builder.compare import Comparison
from builder.diagnosis.finding import Finding, FindingKind, phase_of
from builder.diagnosis.lineage import Producers
from builder.dump.values import Record
from builder.match.values import SURPLUS
from builder.reasons import Reason
from builder.tree import TreeNode
from builder.verdict import value_key
from msprobe_core.format import EntryName, canonical_dtype

THRESHOLD = 0.25


def walk(comparison: Comparison, threshold: float = THRESHOLD) -> list[Finding]:
    """The findings of one comparison in order; carriers stand in each finding's `carriers`."""
    state = _Walk(comparison, threshold)
    for node in comparison.matching.problem.in_order:
        if node.kind != "root":
            state.visit(node)
    for finding in state.findings:
        finding.propagated_to = len(finding.carriers)
    return sorted(state.findings, key=Finding.sort_key)


@dataclass(slots=True)
class _Rows:
    """The divergent value pairs of one node, by what they mean."""

    inputs: list[int] = field(default_factory=list)
    arguments: list[int] = field(default_factory=list)
    parameters: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)


class _Walk:
    def __init__(self, comparison: Comparison, threshold: float) -> None:
        self.comparison = comparison
        self.threshold = threshold
        self.matching = comparison.matching
        self.findings: list[Finding] = []
        self.source: dict[TreeNode, Finding] = {}
        self.unmatched: list[TreeNode] = []
        self.other_precision: list[TreeNode] = []
        self._problem_values = self.matching.problem.dump.values
        self.producers = Producers(self.matching.problem)
        self.benchmark_producers = Producers(self.matching.benchmark)
        self.benchmark_walked = 0
        self.compared = False
        self._starts = np.searchsorted(
            np.array(comparison.pairs.node, dtype=np.int64),
            np.arange(len(self.matching.problem.in_order) + 1),
        )
        self.rare_precision = self._precision_is_rare()

    def visit(self, node: TreeNode) -> None:
        """Judge one node; its outputs become known to the nodes after it."""
        if node in self.matching.partner:
            self._visit_matched(node)
        else:
            self._visit_unmatched(node)
        self.producers.add(node)

    # Unmatched nodes have no score: they matter as makers of NaN and as causes of what follows.
    def _visit_unmatched(self, node: TreeNode) -> None:
        cause = (
            self._cause_by_lineage(range(*node.values))
            or self._cause_inside(node)
            or self._cause_in_forward(node)
        )
        if cause is None and self._makes_nonfinite(node):
            self._start_nonfinite(node)
        elif cause is not None:
            self._carry(cause, node)
        self.unmatched.append(node)

    def _visit_matched(self, node: TreeNode) -> None:
        rows = self._divergent_rows(node)
        self._follow_benchmark(node)
        if self._precision_changes(node):
            self.other_precision.append(node)
        inside = self._cause_inside(node)
        if rows.outputs and inside is None and self._makes_nonfinite(node, one_sided=True):
            self._start_nonfinite(node)
        elif rows.parameters and not self._explained_parameter(node, rows):
            self._start(node, "parameter_differs", self._row_reason("parameter_differs", rows.parameters))
        elif rows.inputs:
            self._visit_divergent_input(node, rows, inside)
        elif rows.outputs:
            self._visit_divergent_output(node, rows, inside)
        if self._rows(node):
            self.compared = True

    def _visit_divergent_input(
        self, node: TreeNode, rows: _Rows, inside: Finding | None
    ) -> None:
        indices = [self.comparison.pairs.problem[row] for row in rows.inputs]
        cause = self._cause_by_lineage(indices) or inside
        if cause is None:
            cause = self._start_from_unmatched(node, rows)
        if cause is None:
            cause = self._start_from_parameter(node, rows)
        if cause is None:
            cause = self._latest_before(node)
        if cause is None:
            cause = self._start_input(node, rows)
        self._carry(cause, node)

    def _visit_divergent_output(
        self, node: TreeNode, rows: _Rows, inside: Finding | None
    ) -> None:
        cause = inside or self._cause_by_lineage(
            [self.comparison.pairs.problem[row] for row in rows.outputs]
        )
        cause = cause or self._cause_in_forward(node)
        if cause is not None:
            self._carry(cause, node)
            return
        score, before = self._scores(node)
        if score is None or score - (before or 0.0) <= self.threshold and not rows.arguments:
            latest = self._latest_before(node)
            if latest is not None:
                self._carry(latest, node)
            return
        if rows.arguments:
            self._start(node, "argument_differs", self._argument_reason(rows.arguments[0]))
            return
        if node.kind == "module" and (found := self._start_from_unmatched(node, rows)):
            self._carry(found, node)
            return
        row = self._worst(rows.outputs)
        reason: Reason = {
            "code": "introduced",
            "value": value_key(self.comparison, row),
            "score": score,
            "input_score": before or 0.0,
        }
        self._start(node, "introduced", reason)

    # --- what explains a divergence -------------------------------------------------------------

    def _cause_by_lineage(self, indices: range | list[int]) -> Finding | None:
        for index in indices:
            producer = self.producers.of(index) if index != SURPLUS else None
            if producer is not None and producer in self.source:
                return self.source[producer]
            if index != SURPLUS and _is_nonfinite(self._problem_values.records[index]):
                # NaN has no fingerprint; what made the latest one is the natural cause.
                return self._latest_nonfinite()
        return None

    def _latest_nonfinite(self) -> Finding | None:
        made = (finding for finding in reversed(self.findings) if finding.kind == "non_finite")
        return next(made, None)

    def _cause_inside(self, node: TreeNode) -> Finding | None:
        for child in node.children:
            if child in self.source:
                return self.source[child]
        return None

    def _cause_in_forward(self, node: TreeNode) -> Finding | None:
        # A backward call reads activations that its own entry does not list.
        if node.direction != "backward" or node.entry is None:
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
        score, before = self._scores(forward)
        if max(score or 0.0, before or 0.0) > self.threshold:
            return self._latest_before(node)
        return None

    def _cause_of_gradient(self, node: TreeNode, entry: EntryName) -> Finding | None:
        # A parameter's gradient fires before its module's backward entry is complete, so the
        # gradient that flows into the module is looked up ahead of its turn.
        beside = self._cause_inside(node.parent) if node.parent is not None else None
        if beside is not None:
            return beside
        module = self.matching.problem.by_name.get(entry.twin("backward")) or node.parent
        if module is None or module.kind == "root" or not self._rows(module):
            return self._latest_before(node)
        rows = self._divergent_rows(module).inputs
        if not rows:
            return None
        indices = [self.comparison.pairs.problem[row] for row in rows]
        return self._cause_by_lineage(indices) or self._latest_before(node)

    def _latest_before(self, node: TreeNode) -> Finding | None:
        return self.findings[-1] if self.findings else None

    def _explained_parameter(self, node: TreeNode, rows: _Rows) -> bool:
        return node in self.source or any(
            finding.node is node for finding in self.findings if finding.kind == "parameter_differs"
        )

    # --- starting findings ----------------------------------------------------------------------

    def _start(
        self,
        node: TreeNode,
        kind: FindingKind,
        reason: Reason,
        side: str = "problem",
        order: int | None = None,
    ) -> Finding:
        score, before = self._scores(node) if side == "problem" else (None, None)
        finding = Finding(
            kind,
            node,
            "problem" if side == "problem" else "benchmark",
            node.exec_order if order is None else order,
            [reason],
            score,
            before,
        )
        self.findings.append(finding)
        if side == "problem":
            self.source[node] = finding
        self.unmatched.clear()
        return finding

    def _carry(self, cause: Finding, node: TreeNode) -> None:
        if cause.node is not node and node not in self.source:
            self.source[node] = cause
            cause.carriers.append(node)

    def _scored(self, finding: Finding, score: float) -> Finding:
        finding.score = score
        return finding

    def _start_nonfinite(self, node: TreeNode) -> None:
        value, state = self._nonfinite_output(node)
        reason: Reason = {"code": "nonfinite_made", "value": value, "state": state}
        self._scored(self._start(node, "non_finite", reason), 1.0)

    def _start_from_unmatched(self, node: TreeNode, rows: _Rows) -> Finding | None:
        extra = self._unmatched_producer(rows)
        run = self._run_up_to(extra) if extra is not None else self._latest_run(node)
        # An unmatched call has no score of its own: what its value does to its reader stands for it.
        score = float(self.comparison.score[self._worst(rows.inputs or rows.outputs)])
        if run:
            names = ", ".join(call.name for call in run[-5:])
            reason: Reason = {"code": "extra_calls", "names": names}
            return self._scored(self._start(run[-1], "input_differs", reason), score)
        missing = self._missing_producer(rows)
        if missing is not None:
            reason = {"code": "missing_calls", "names": missing.name}
            place = node.exec_order
            finding = self._start(missing, "input_differs", reason, "benchmark", place)
            return self._scored(finding, score)
        if extra is None and self.other_precision:
            return self._start_precision(self.other_precision[-1])
        return None

    def _unmatched_producer(self, rows: _Rows) -> TreeNode | None:
        for row in rows.inputs or rows.outputs:
            producer = self.producers.of(self.comparison.pairs.problem[row])
            if producer is not None and producer not in self.matching.partner:
                return producer
        return None

    def _missing_producer(self, rows: _Rows) -> TreeNode | None:
        for row in rows.inputs or rows.outputs:
            producer = self.benchmark_producers.of(self.comparison.pairs.benchmark[row])
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
        return any(node.kind == "api" and self._rows(node) for node in between)

    def _start_precision(self, node: TreeNode) -> Finding:
        row = next(row for row in self._rows(node) if self._is_dtype_output(row))
        p, b = self._records(row)
        reason: Reason = {
            "code": "precision_differs",
            "problem": canonical_dtype(p.dtype or ""),
            "benchmark": canonical_dtype(b.dtype or ""),
        }
        self.other_precision.clear()
        return self._start(node, "precision", reason)

    def _start_from_parameter(self, node: TreeNode, rows: _Rows) -> Finding | None:
        owner = node.parent
        while owner is not None and owner.kind == "module":
            if owner in self.matching.partner:
                parameters = self._divergent_rows(owner).parameters
                if self._same_values(parameters, rows.inputs):
                    reason = self._row_reason("parameter_differs", parameters)
                    return self._start(owner, "parameter_differs", reason)
            owner = owner.parent
        return None

    def _start_input(self, node: TreeNode, rows: _Rows) -> Finding:
        row = self._worst(rows.inputs)
        fed = not self.compared or self._is_integer(row)
        model_input = fed and node.direction == "forward" and phase_of(node) == "forward"
        code = "batch_differs" if model_input else "input_differs"
        return self._start(node, "input_differs", self._row_reason(code, rows.inputs))

    # --- reading the comparison -----------------------------------------------------------------

    def _rows(self, node: TreeNode) -> range:
        return range(self._starts[node.exec_order], self._starts[node.exec_order + 1])

    def _scores(self, node: TreeNode) -> tuple[float | None, float | None]:
        score = self.comparison.node_score[node.exec_order]
        before = self.comparison.node_input_score[node.exec_order]
        return _number(score), _number(before)

    def _divergent_rows(self, node: TreeNode) -> _Rows:
        found = _Rows()
        for row in self._rows(node):
            if not self.comparison.score[row] > self.threshold:
                continue
            key = value_key(self.comparison, row)
            if self.comparison.is_output[row]:
                found.outputs.append(row)
            elif key.startswith("parameters."):
                found.parameters.append(row)
            elif self._is_argument(row):
                found.arguments.append(row)
            else:
                found.inputs.append(row)
        return found

    def _is_argument(self, row: int) -> bool:
        p, b = self._records(row)
        return p.dtype is None or b.dtype is None

    def _is_integer(self, row: int) -> bool:
        dtype = canonical_dtype(self._records(row)[0].dtype or "")
        return "int" in dtype or dtype == "bool"

    def _records(self, row: int) -> tuple[Record, Record]:
        problem = self.matching.problem.dump.values.records
        benchmark = self.matching.benchmark.dump.values.records
        pairs = self.comparison.pairs
        return problem[pairs.problem[row]], benchmark[pairs.benchmark[row]]

    def _worst(self, rows: list[int]) -> int:
        return max(rows, key=lambda row: float(self.comparison.score[row]))

    def _row_reason(self, code: str, rows: list[int]) -> Reason:
        row = self._worst(rows)
        score = float(self.comparison.score[row])
        return {"code": code, "value": value_key(self.comparison, row), "score": score}

    def _argument_reason(self, row: int) -> Reason:
        p, b = self._records(row)
        return {
            "code": "argument_differs",
            "value": value_key(self.comparison, row),
            "problem": repr(p.value) if p.dtype is None else canonical_dtype(p.dtype),
            "benchmark": repr(b.value) if b.dtype is None else canonical_dtype(b.dtype),
        }

    def _same_values(self, parameters: list[int], inputs: list[int]) -> bool:
        pairs = self.comparison.pairs
        records = self.matching.problem.dump.values.records
        owned = {_statistics(records[pairs.problem[row]]) for row in parameters}
        return any(_statistics(records[pairs.problem[row]]) in owned for row in inputs)

    def _makes_nonfinite(self, node: TreeNode, one_sided: bool = False) -> bool:
        values = self.matching.problem.dump.values
        start, stop = node.values
        for index in range(start, stop):
            if not values.keys[index].startswith("output") and _is_nonfinite(values.records[index]):
                return False
        if one_sided:
            return any(
                _is_nonfinite(self._records(row)[0]) and not _is_nonfinite(self._records(row)[1])
                for row in self._rows(node)
                if self.comparison.is_output[row] and SURPLUS not in self._pair(row)
            )
        return bool(self._nonfinite_output(node)[0])

    def _pair(self, row: int) -> tuple[int, int]:
        return self.comparison.pairs.problem[row], self.comparison.pairs.benchmark[row]

    def _nonfinite_output(self, node: TreeNode) -> tuple[str, str]:
        values = self.matching.problem.dump.values
        for index in range(*node.values):
            if values.keys[index].startswith("output") and _is_nonfinite(values.records[index]):
                return values.keys[index], _state(values.records[index])
        return "", ""

    def _follow_benchmark(self, node: TreeNode) -> None:
        partner = self.matching.partner[node]
        order = self.matching.benchmark.in_order
        while self.benchmark_walked < min(partner.exec_order, len(order)):
            self.benchmark_producers.add(order[self.benchmark_walked])
            self.benchmark_walked += 1

    # --- precision ------------------------------------------------------------------------------

    def _precision_is_rare(self) -> bool:
        changed = {
            self.comparison.pairs.node[row]
            for row, attributes in self.comparison.differs.items()
            if "dtype" in attributes
        }
        compared = len(set(self.comparison.pairs.node))
        return 0 < len(changed) <= compared / 2

    def _precision_changes(self, node: TreeNode) -> bool:
        if not self.rare_precision or node.kind != "api":
            return False
        rows = self._rows(node)
        if any(self._dtype_differs(row) and not self.comparison.is_output[row] for row in rows):
            return False
        return any(self._is_dtype_output(row) for row in rows)

    def _is_dtype_output(self, row: int) -> bool:
        return bool(self.comparison.is_output[row]) and self._dtype_differs(row)

    def _dtype_differs(self, row: int) -> bool:
        return "dtype" in self.comparison.differs.get(row, ())


def _number(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def _statistics(record: Record) -> tuple[object, ...]:
    return (record.shape, record.Max, record.Min, record.Mean, record.Norm, record.md5)


def _is_nonfinite(record: Record) -> bool:
    return bool(_state(record))


def _state(record: Record) -> str:
    for cell in (record.Max, record.Min):
        try:
            number = float(cell) if cell is not None else 0.0
        except ValueError:
            return "NaN"
        if number != number:
            return "NaN"
        if number in (float("inf"), float("-inf")):
            return "Inf"
    return ""
