"""Names the calls, edges and parameters whose excess no finding upstream explains.

One pass over the problem's nodes in execution order. What a node reads is judged first, then what
it puts out; a module's inputs are judged before what runs inside it. What differs and follows from
a finding by the flow of values is counted under it.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import inf

import numpy as np

from builder.compare.comparison import Comparison
from builder.diagnosis.edges import NO_EXCESS, Edges, Excess, excess_over
from builder.diagnosis.element_calls import api_name
from builder.diagnosis.excess import Expected
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding, phase_of
from builder.diagnosis.gains import CHOOSING
from builder.diagnosis.ledger import Ledger
from builder.diagnosis.nonfinite import open_nonfinite, unmatched_makes_nonfinite
from builder.diagnosis.structure import Change, Changes, scope_of
from builder.diagnosis.walked import Walked
from builder.flow.feeding import Flow
from builder.flow.fingerprints import NO_PRINT
from builder.match.tree import TreeNode
from builder.reasons import Reason

# A call that computes as in the other run is named from this excess on, and behind a finding, where
# bounds to first order are stretched, from twice that.
_PLAIN, _BEHIND = 3.0, 6.0
# A call that is not as in the other run has a cause already: any excess will do.
_CHANGED = 1.0
# A choice among inputs that are further apart than this may well be another one.
_SAME_CHOICE = 0.1


def attribute(comparison: Comparison, threshold: float, flows: tuple[Flow, Flow]) -> Walked:
    """The findings of one comparison whose elements were seen."""
    state = _Attribution(Facts(comparison, threshold), flows)
    for node in comparison.matching.problem.in_order:
        if node.kind != "root":
            state.visit(node)
    return state.result()


class _Attribution:
    """The state of one pass.

    Invariants: `_entered` are the modules whose inputs were judged; `_edges_named` maps the
    fingerprints of a value's two sides to the finding that named an edge it went over.
    """

    def __init__(self, facts: Facts, flows: tuple[Flow, Flow]) -> None:
        self.facts = facts
        self.comparison = facts.comparison
        self.matching = facts.comparison.matching
        self.flows = flows
        self.known = Expected(facts.comparison)
        self.ledger = Ledger(facts, flows)
        self.edges = Edges(facts, self.known, flows)
        self.changes = Changes(facts)
        self._entered: set[TreeNode] = set()
        self._edges_named: dict[Hashable, Finding] = {}
        self._has_read = False

    def visit(self, node: TreeNode) -> None:
        """Judge one node."""
        partner = self.matching.partner.get(node)
        if partner is None:
            self._visit_unmatched(node)
            return
        self.changes.follow(node, partner)
        self._enter(node)
        if not self.facts.rows(node):
            return
        differs = node.exec_order in self.known.differing
        if differs or self.changes.differs(node) or self.facts.makes_nonfinite(node):
            self._judge(node)
        if differs:
            self.edges.note(node, self.known.tensor_rows(node))
        self._has_read = True

    def result(self) -> Walked:
        """All findings; without one, a call of the optimizer that the next step may confirm."""
        ledger, late = self.ledger, None
        changed = None if ledger.findings else self.changes.late()
        if changed is not None:
            late = self.changes.open(changed, self.matching.problem.in_order[-1], ledger, 0.0)
            ledger.discard()
        for finding in ledger.findings:
            finding.propagated_to = len(finding.carriers)
        ordered = sorted(ledger.findings, key=Finding.sort_key)
        return Walked(ordered, ledger.tolerated_keys(), late, tuple(ledger.ties))

    # --- which nodes are judged -------------------------------------------------------------------

    def _visit_unmatched(self, node: TreeNode) -> None:
        cause = self._behind(node)
        if cause is not None:
            self.ledger.carry(cause, node)
        elif unmatched_makes_nonfinite(self.facts, node):
            open_nonfinite(self.facts, self.ledger, node)
        if self.changes.is_change(node):
            self.changes.add("extra", node)

    def _enter(self, node: TreeNode) -> None:
        """Judge what the modules around a node read, before what runs inside them."""
        around = []
        up = node if node.children else node.parent
        while up is not None and up not in self._entered:
            self._entered.add(up)
            around.append(up)
            up = up.parent
        for module in reversed(around):
            if not _holds_calls(module) or module not in self.matching.partner:
                continue
            if module.exec_order in self.known.differing:
                self._judge_inputs(module, self._behind(module))
                self.edges.note(module, self.known.inputs(module))

    def _judge(self, node: TreeNode) -> None:
        cause = self._behind(node)
        if self.facts.makes_nonfinite(node):
            self._judge_nonfinite(node, cause)
            return
        if (cause is None or phase_of(node) == "forward") and self._open_parameters(node):
            return
        self._note_changes(node)
        if _holds_calls(node):
            found = self._judge_module_output(node) if cause is None else None
        else:
            found = self._judge_inputs(node, cause) or self._judge_outputs(node, cause)
        if found is None and cause is not None:
            self.ledger.carry(cause, node)
        elif found is None:
            self._let_pass(node)

    def _note_changes(self, node: TreeNode) -> None:
        if node.kind == "api" and self.changes.requires_grad(node):
            self.changes.add("gradient", node)
        if self.facts.changes_precision(node) and not self._reads_precision(node):
            self.changes.add("precision", node)
        if self.changes.arguments(node):
            self.changes.add("argument", node)

    def _reads_precision(self, node: TreeNode) -> bool:
        """Whether another dtype comes from a call that is named for it already."""
        rows = self.facts.differing_dtypes(node, outputs=False)
        makers = (self.edges.makers(row).ours for row in rows)
        return any(m is not None and self.facts.differing_dtypes(m, outputs=True) for m in makers)

    def _let_pass(self, node: TreeNode) -> None:
        rows = [r for r in self.known.outputs(node) if self.known.distance[r] > 0]
        self.ledger.tolerate(self.facts.problem_values(rows))
        if self.facts.divergent(node).outputs and self.facts.is_tie(node):
            self.ledger.ties.append(node)

    # --- what a node follows from -----------------------------------------------------------------

    def _behind(self, node: TreeNode) -> Finding | None:
        """The finding upstream that a node is reached from by values that differ."""
        source = self.ledger.source
        if not source:
            return None
        makers = [*node.children, *self._makers_of(node)]
        if node.direction == "backward":
            makers += [node.forward] if node.forward is not None else []
            if node.entry is not None and node.entry.kind == "parameters_grad":
                module = node.backward or node.parent
                rows = self.known.inputs(module) if module in self.matching.partner else []
                # It is what a call inside the module, or beside it, has put out.
                makers += module.children if module is not None else []
                makers += [m for r in rows if (m := self.edges.makers(r).ours) is not None]
        return next((source[maker] for maker in makers if maker in source), None)

    def _makers_of(self, node: TreeNode) -> list[TreeNode]:
        if node not in self.matching.partner:
            return self.edges.makers_of_values(range(*node.values))
        made: list[TreeNode] = []
        for row in self.known.inputs(node):
            if self.known.distance[row] > 0:
                makers = self.edges.makers(row)
                theirs = self.matching.partner.get(makers.theirs) if makers.theirs else None
                made += [one for one in (makers.ours, theirs) if one is not None]
        return made

    # --- NaN, parameters --------------------------------------------------------------------------

    def _judge_nonfinite(self, node: TreeNode, cause: Finding | None) -> None:
        known = cause or self.ledger.latest_nonfinite
        if known is None and node.direction == "backward":
            known = self.ledger.latest()
        if known is None:
            open_nonfinite(self.facts, self.ledger, node)
        else:
            self.ledger.carry(known, node)

    def _open_parameters(self, node: TreeNode) -> Finding | None:
        """A module whose own parameter is further apart than a rounding."""
        if node.direction != "forward" or node.kind != "module" or _is_update(node):
            return None
        known = self.known
        wrong = [r for r in known.parameters(node) if known.distance[r] > _PLAIN * known.noise[r]]
        return self._open_parameter(node, wrong) if wrong else None

    def _open_parameter(self, owner: TreeNode, rows: list[int]) -> Finding:
        if owner in self.ledger.source:
            return self.ledger.source[owner]
        reason = self.facts.score_reason("parameter_differs", rows)
        finding = self.ledger.open(owner, "parameter_differs", reason)
        finding.inherits = self._keys(rows)
        return finding

    # --- what is read -----------------------------------------------------------------------------

    def _judge_inputs(self, node: TreeNode, cause: Finding | None) -> Finding | None:
        if cause is not None and node.direction == "backward":
            return None  # gradients behind a finding add up with others where nothing records it
        parameters = set(self.known.parameters(node))
        rows = [r for r in self.known.inputs(node) if r not in parameters]
        worst = max((self.edges.of_input(node, r) for r in rows), key=_times, default=NO_EXCESS)
        if worst.times <= (_CHANGED if worst.way == "changed" else _PLAIN):
            return None
        if not self._has_read and not self._is_other_data(worst):
            return None
        said = self._said_already(node, worst)
        if said is not None or cause is not None:
            # Behind NaN there is no distance to tell a second fault by.
            measured = worst.way == "moved" or (worst.way == "changed" and worst.times < inf)
            if said is None and measured and worst.times > _BEHIND:
                return self._open_edge(node, worst)
            if said is not None:
                self.ledger.carry(cause or said, node)
            return said
        return self._open_edge(node, worst)

    def _is_other_data(self, excess: Excess) -> bool:
        """Whether the run's own input is outside the tolerance: what was done to it is unknown."""
        score = self.comparison.score[excess.row]
        return self.known.is_integer(excess.row) or bool(score > self.facts.threshold)

    def _said_already(self, node: TreeNode, excess: Excess) -> Finding | None:
        """The finding that named this edge where the value went over it before."""
        known = self._edges_named.get(self._edge_key(excess.row))
        if known is not None:
            return known
        scope, makers = scope_of(node), excess.makers
        traced = makers is not None and None not in (makers.ours, makers.theirs)
        if scope is not None and scope in self.ledger.source and not traced:
            return self.ledger.source[scope]
        # One wrong gradient changes the norm by which all are clipped, which leaves no entry.
        return self.ledger.latest() if phase_of(node) == "after" else None

    def _edge_key(self, row: int) -> Hashable:
        sides = zip(self.flows, self.facts.value_pair(row))
        numbers = tuple(flow.prints.numbers[index] for flow, index in sides)
        return row if NO_PRINT in numbers else numbers

    def _open_edge(self, node: TreeNode, excess: Excess) -> Finding:
        finding = self._edge_finding(node, excess)
        self._edges_named[self._edge_key(excess.row)] = finding
        self.ledger.carry(finding, node)
        return finding

    def _edge_finding(self, node: TreeNode, excess: Excess) -> Finding:
        row, makers = excess.row, excess.makers
        assert makers is not None
        score = float(np.nan_to_num(self.comparison.score[row]))
        alone = self.edges.unmatched(makers)
        if alone is not None:
            made = self.changes.made_by(alone, node)
            return made.finding or self._open_change(made, node, score, excess)
        owner = self._owner(node, row)
        if owner is not None:
            return self._open_parameter(owner, [row])
        change = self.changes.around(node)
        if change is None and node.direction == "backward":
            change = self.changes.of_gradient() or self.changes.of(node.forward)
        if change is not None:
            return self._open_change(change, node, score, excess)
        return self._open_unexplained(node, excess)

    def _open_unexplained(self, node: TreeNode, excess: Excess) -> Finding:
        """An input that no recorded call explains: moved, other data, or unrecorded work."""
        row, key = excess.row, self.comparison.keys[excess.row]
        maker = excess.makers.ours if excess.makers is not None else None
        is_data = not self._has_read or self.known.is_integer(row)
        reason: Reason
        if excess.way == "moved" and maker is not None:
            reason = {"code": "elements_moved", "value": key, "maker": maker.name}
        elif excess.way == "outside" and phase_of(node) == "forward" and is_data:
            reason = self.facts.score_reason("batch_differs", [row])
        elif (latest := self.ledger.latest()) is not None:
            return latest
        else:
            reason = self.facts.score_reason("input_differs", [row])
        finding = self.ledger.open(node, "input_differs", reason)
        finding.inherits = self._keys([row])
        return self._with_evidence(finding, excess)

    def _owner(self, node: TreeNode, row: int) -> TreeNode | None:
        """The module around a call whose parameter the call reads."""
        owner = scope_of(node)
        while owner is not None:
            own = self.known.parameters(owner) if owner in self.matching.partner else []
            if own and self.facts.share_a_value(own, [row]):
                return owner
            owner = scope_of(owner)
        return None

    # --- what is put out --------------------------------------------------------------------------

    def _judge_module_output(self, node: TreeNode) -> Finding | None:
        outputs = self.known.outputs(node)
        worst = max(
            (self.edges.of_module_output(node, r) for r in outputs), key=_times, default=NO_EXCESS
        )
        if worst.times <= _PLAIN:
            return None
        change = None
        if worst.makers is not None:
            alone = self.edges.unmatched(worst.makers)
            change = self.changes.made_by(alone, node) if alone is not None else None
        change = change or self.changes.inside(node)
        if change is None and node.direction == "backward":
            change = self.changes.of_gradient()
        if change is not None:
            finding = self._open_change(change, node, None, worst)
        else:
            finding = self._open_introduced(node, worst)
        self._edges_named[self._edge_key(worst.row)] = finding
        self.ledger.carry(finding, node)
        return finding

    def _judge_outputs(self, node: TreeNode, cause: Finding | None) -> Finding | None:
        worst = max(
            (self._excess(node, r) for r in self.known.outputs(node)),
            key=_times,
            default=NO_EXCESS,
        )
        arguments = self.changes.arguments(node)
        if arguments and cause is None and self._chose_otherwise(node):
            worst = Excess(inf, self.known.outputs(node)[0])
        if cause is not None and (worst.times <= _BEHIND or _is_gradient(node)):
            return None
        change = self.changes.of(node)
        if worst.times <= (_PLAIN if change is None or cause is not None else _CHANGED):
            return None
        finding = self._output_finding(node, worst, arguments, change)
        self.ledger.carry(finding, node)
        return finding

    def _excess(self, node: TreeNode, row: int) -> Excess:
        """How many times further apart an output is than what its call read explains."""
        known = self.known
        if known.hidden[row] or known.is_rounded(row):
            return NO_EXCESS
        if known.is_integer(row):
            read = known.operands(node)
            picks = api_name(node) in (*CHOOSING, "max", "min")
            blind = picks or any(known.distance[r] > 0 for r in read)
            return NO_EXCESS if blind else Excess(inf, row)
        expected = known.expected(node, row)
        if any(known.hidden[r] for r in known.inputs(node)):
            expected += 2 * max(self.edges.around(node), known.working) * known.norm[row]
        came = max(0.0, expected - known.noise[row])
        return excess_over(known.distance[row], expected, row, came=came)

    def _chose_otherwise(self, node: TreeNode) -> bool:
        """Whether a call that picks puts out something else for inputs that hardly differ."""
        known = self.known
        differs = any(known.distance[r] > 0 for r in known.outputs(node))
        near = all(known.share[r] <= _SAME_CHOICE for r in known.inputs(node))
        return api_name(node) in CHOOSING and differs and near

    def _output_finding(
        self, node: TreeNode, excess: Excess, arguments: list[int], change: Change | None
    ) -> Finding:
        if arguments:
            reason = self.facts.argument_reason(arguments[0])
            finding = self.ledger.open(node, "argument_differs", reason)
            return self._with_evidence(finding, excess)
        if change is None and node.direction == "backward":
            change = self.changes.of(node.forward) or self.changes.of_gradient()
        if change is None and node.kind == "module":
            change = self.changes.inside(node)
        if change is not None:
            return self._open_change(change, node, None, excess)
        return self._behind_infinity(node, excess) or self._open_introduced(node, excess)

    def _behind_infinity(self, node: TreeNode, excess: Excess) -> Finding | None:
        """The call that made the infinities in which nothing behind could be compared."""
        hidden = (r for r in self.known.inputs(node) if self.known.hidden[r])
        row = next((r for r in hidden if self.edges.makers(r).ours is not None), None)
        if row is None:
            return None
        maker = self.edges.makers(row).ours
        assert maker is not None
        if maker in self.ledger.source:
            return self.ledger.source[maker]
        key = self.comparison.keys[row]
        reason: Reason = {"code": "hidden_by_infinity", "value": key, "reader": node.name}
        score = float(np.nan_to_num(self.comparison.score[excess.row]))
        return self.ledger.open(maker, "introduced", reason, score)

    def _open_introduced(self, node: TreeNode, excess: Excess) -> Finding:
        reason = self.facts.score_reason("introduced", [excess.row])
        before = self.facts.reads(node)
        finding = self.ledger.open(node, "introduced", {**reason, "input_score": before})
        return self._with_evidence(finding, excess)

    # --- findings ---------------------------------------------------------------------------------

    def _open_change(
        self, change: Change, node: TreeNode, score: float | None, excess: Excess
    ) -> Finding:
        finding = self.changes.open(change, node, self.ledger, score)
        return self._with_evidence(finding, excess)

    def _with_evidence(self, finding: Finding, excess: Excess) -> Finding:
        """Keep with a finding how far apart a value is, and the share that its inputs explain."""
        distance, share = self.known.distance[excess.row], self.known.share[excess.row]
        if 0 < share < inf:
            explained = min(1.0, excess.came / distance)
            finding.reasons[0] |= {"apart": share, "explained": explained}
        return finding

    def _keys(self, rows: list[int]) -> frozenset[Hashable]:
        values = self.facts.problem_values(rows)
        return self.flows[0].prints.keys(self.ledger.fingerprints(values))


def _times(excess: Excess) -> float:
    return excess.times


def _holds_calls(node: TreeNode) -> bool:
    """Whether a node is a module with calls inside, which are judged in its place."""
    entry = node.entry
    is_gradient = entry is not None and entry.kind == "parameters_grad"
    return node.kind == "module" and bool(node.children) and entry is not None and not is_gradient


def _is_gradient(node: TreeNode) -> bool:
    """Whether a node is the gradient of a parameter, which a call beside it has put out."""
    return node.entry is not None and node.entry.kind == "parameters_grad"


def _is_update(node: TreeNode) -> bool:
    return node.entry is not None and node.entry.prefix == "Optimizer"
