"""Names the calls, edges and parameters whose excess no finding upstream explains.

One pass over the problem's nodes in execution order. What a node reads is judged first, then what
it puts out; a module's inputs are judged before what runs inside it. What differs and follows from
a finding by the flow of values is counted under it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from math import inf

from builder.compare.comparison import Comparison
from builder.diagnosis import sketched_sums
from builder.diagnosis.excess import NO_EXCESS, PLAIN, Excess, excess_over
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.diagnosis.healing import Healing
from builder.diagnosis.naming import BEHIND, Naming
from builder.diagnosis.nonfinite import open_nonfinite, unmatched_makes_nonfinite
from builder.diagnosis.sightings import Sightings
from builder.diagnosis.walked import Walked
from builder.flow.feeding import Flow
from builder.flow.fingerprints import NO_PRINT
from builder.match.step_phases import phase_of
from builder.match.tree import TreeNode
from builder.operators.table import has

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

    Invariant: `_entered` are the modules whose inputs were judged.
    """

    def __init__(self, facts: Facts, flows: tuple[Flow, Flow]) -> None:
        self.naming = Naming(facts, flows)
        self.facts, self.known = facts, self.naming.known
        self.comparison = facts.comparison
        self.matching = facts.comparison.matching
        self.ledger, self.edges = self.naming.ledger, self.naming.edges
        self.changes = self.naming.changes
        self.sightings = Sightings(facts, self.changes, self.edges.passed)
        self._entered: set[TreeNode] = set()

    def visit(self, node: TreeNode) -> None:
        """Judge one node."""
        partner = self.matching.partner.get(node)
        if partner is None:
            self._visit_unmatched(node)
            return
        self.changes.follow(node, partner)
        self._enter(node)
        if not self.facts.paired.rows(node) or self._is_named(node):
            return
        differs = node.exec_order in self.known.differing
        if differs or self.changes.differs(node) or self.facts.makes_nonfinite(node):
            self._judge(node)
        if differs:
            self.edges.note(node, self.known.tensor_rows(node))
        self.naming.has_read = True

    def result(self) -> Walked:
        """All findings; without one, a call of the optimizer that the next step may confirm."""
        late = self.changes.open_late(self.ledger)
        self._count_gradients()
        prints = (self.ledger.producers.prints, self.ledger.benchmark_producers.prints)
        seen = self.sightings.listed(prints, self._maker)
        walked = self.ledger.walked(late)
        healing = Healing(self.facts, self.naming.flows)
        heals = healing.heals(walked.findings)
        for finding in walked.findings:
            finding.heals_by_itself = healing.heals_by_itself(finding)
        return replace(walked, sightings=seen, heals=heals, by_scores=False)

    def _count_gradients(self) -> None:
        """Count what was let pass under the finding that it comes of by gradients.

        Only for the eye: it was judged where it was made, a sum by all of its parts.
        """
        if not self.ledger.source:
            return
        for node in self.matching.problem.in_order:
            if node not in self.ledger.source and node.exec_order in self.known.differing:
                cause = self._behind(node) or self._behind_gradients(node)
                if cause is not None:
                    self.ledger.carry(cause, node)

    def _is_named(self, node: TreeNode) -> bool:
        """Whether a node was named before its turn: a module's backward call by its gradients."""
        known = self.ledger.source.get(node)
        return known is not None and known.node is node and node.direction == "backward"

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
            found = self._judge_module_output(node, cause)
        else:
            found = self._judge_inputs(node, cause) or self._judge_outputs(node, cause)
        if found is None and cause is not None:
            self.ledger.carry(cause, node)
        elif found is None:
            self._let_pass(node)

    def _note_changes(self, node: TreeNode) -> None:
        if self._cuts_off(node):
            self.changes.add("gradient", node)
        if self.facts.changes_precision(node) and not self.facts.reads_precision(node, self._maker):
            self.changes.add("precision", node)
        if self.changes.arguments(node):
            self.changes.add("argument", node)

    def _cuts_off(self, node: TreeNode) -> bool:
        """Whether one run alone wants a gradient of what a call holds, or a module puts out.

        What a module reads its calls read as well.
        """
        rows = self.changes.requires_grad(node)
        is_output = self.comparison.is_output
        return bool(rows) and (node.kind == "api" or all(is_output[row] for row in rows))

    def _maker(self, row: int) -> TreeNode | None:
        """The problem's call that put out the problem's value of a row."""
        return self.edges.makers(row).ours

    def _let_pass(self, node: TreeNode) -> None:
        rows = [r for r in self.known.outputs(node) if self.known.distance[r] > 0]
        self.ledger.tolerate(self.facts.paired.problem_values(rows))
        self.ledger.note_choice(node)

    # --- what a node follows from -----------------------------------------------------------------

    def _behind(self, node: TreeNode) -> Finding | None:
        """The finding upstream that a node is reached from by values that differ."""
        source = self.ledger.source
        if not source:
            return None
        makers = [*node.children, *self._makers_of(node)]
        if node.direction == "backward":
            makers += [node.forward] if node.forward is not None else []
            if node.holds_gradients:
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
            if self.known.distance[row] > 0 or self._may_hide(row):
                makers = self.edges.makers(row)
                theirs = self.matching.partner.get(makers.theirs) if makers.theirs else None
                made += [one for one in (makers.ours, theirs) if one is not None]
        return made

    def _behind_gradients(self, node: TreeNode) -> Finding | None:
        """The finding that a value comes of which no recorded call made: a parameter's gradient, or
        one that is the sum of what several calls returned.
        """
        numbers = self.ledger.producers.prints.numbers
        for row in self.known.inputs(node):
            if self.known.distance[row] == 0 or self.edges.makers(row).ours is not None:
                continue
            gradients = self._gradients.get(numbers[self.facts.paired.value_pair(row)[0]], ())
            parts = self.edges.returned.makers(node, row)
            found = (self.ledger.source.get(part) for part in (*gradients, *parts))
            known = next(filter(None, found), None)
            if known is not None:
                return known
        return None

    @cached_property
    def _gradients(self) -> dict[int, list[TreeNode]]:
        """The nodes that hold a parameter's gradient, by its fingerprint."""
        numbers = self.ledger.producers.prints.numbers
        held: dict[int, list[TreeNode]] = defaultdict(list)
        for node in self.matching.problem.in_order:
            if node.holds_gradients:
                for number in numbers[slice(*node.values)]:
                    held[number].append(node)
        held.pop(NO_PRINT, None)
        return held

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
        if node.direction != "forward" or node.kind != "module" or node.is_update:
            return None
        known = self.known
        wrong = [r for r in known.parameters(node) if known.distance[r] > PLAIN * known.noise[r]]
        return self.naming.open_parameter(node, wrong) if wrong else None

    # --- what is read -----------------------------------------------------------------------------

    def _judge_inputs(self, node: TreeNode, cause: Finding | None) -> Finding | None:
        parameters = set(self.known.parameters(node))
        rows = [r for r in self.known.inputs(node) if r not in parameters]
        read = [self.edges.of_input(node, r) for r in rows]
        self.sightings.note(node, [*read, *self.edges.of_other_forms(rows)])
        worst = max(read, key=_times, default=NO_EXCESS)
        if worst.times <= (_CHANGED if worst.way == "changed" else PLAIN):
            return None
        if not self.naming.has_read and not self._is_other_data(worst):
            return None
        returned = self._returned_by_a_finding(node, worst)
        if returned is not None:
            self.ledger.carry(returned, node)
            return returned
        said = self.naming.said_already(node, worst)
        if said is not None and worst.told and worst.times < inf:
            said = self.naming.passed(node, worst) or said
        if said is not None or cause is not None:
            # Behind NaN there is no distance to tell a second fault by.
            guessed = worst.way in ("changed", "outside") and worst.times < inf
            limit = PLAIN if worst.told else BEHIND if guessed else inf
            if said is None and worst.times > limit:
                return self.naming.open_edge(node, worst)
            if said is not None:
                self.ledger.carry(cause or said, node)
            return said
        return self.naming.open_edge(node, worst)

    def _returned_by_a_finding(self, node: TreeNode, worst: Excess) -> Finding | None:
        """The finding whose own call returned a gradient of which no record tells.

        A loss of several calls records the gradient of its last; the rest is that call's as well.
        """
        if worst.way != "outside":
            return None
        calls = self.edges.returned.returned_by(node, worst.row)
        named = ((call, self.ledger.source.get(call)) for call in calls)
        return next((one for call, one in named if one is not None and one.node is call), None)

    def _is_other_data(self, excess: Excess) -> bool:
        """Whether the run's own input is outside the tolerance: what was done to it is unknown."""
        score = self.comparison.score[excess.row]
        return self.known.paired.is_integer(excess.row) or bool(score > self.facts.threshold)

    # --- what is put out --------------------------------------------------------------------------

    def _judge_module_output(self, node: TreeNode, cause: Finding | None) -> Finding | None:
        outputs = self.known.outputs(node)
        worst = max(
            (self.edges.of_module_output(node, r) for r in outputs), key=_times, default=NO_EXCESS
        )
        if cause is not None and not worst.told:
            return None
        changed = cause is None and self.changes.inside(node) is not None
        if worst.times <= (_CHANGED if changed else PLAIN):
            return None
        return self.naming.open_module_output(node, worst)

    def _judge_outputs(self, node: TreeNode, cause: Finding | None) -> Finding | None:
        # Behind NaN there is no distance to tell a second fault by.
        told = (
            r for r in self.known.outputs(node) if cause is None or self.known.distance[r] < inf
        )
        worst = max((self._excess(node, r) for r in told), key=_times, default=NO_EXCESS)
        arguments = self.changes.arguments(node)
        if arguments and cause is None and self._chose_otherwise(node):
            worst = Excess(inf, self.known.outputs(node)[0])
        if cause is not None and worst.times <= (PLAIN if worst.told else BEHIND):
            return None
        if cause is not None and node.holds_gradients and not worst.told:
            return None  # it may add up with that of another call of its parameter
        change = self.changes.of(node)
        if worst.times <= (PLAIN if change is None or cause is not None else _CHANGED):
            return None
        finding = self.naming.open_output(node, worst, arguments, change)
        self.ledger.carry(finding, node)
        return finding

    def _excess(self, node: TreeNode, row: int) -> Excess:
        """How many times further apart an output is than what its call read explains."""
        known = self.known
        if known.hidden[row] or known.is_rounded(row):
            return NO_EXCESS
        if known.paired.is_integer(row):
            read = self.facts.expected.operands(node)
            picks = has(node.call, "chooses", "picks")
            blind = picks or any(known.distance[r] > 0 or self._may_hide(r) for r in read)
            return NO_EXCESS if blind else Excess(inf, row)
        added_up = sketched_sums.of_call(known, node, row)
        if added_up is not None:
            return added_up
        may = self.facts.expected.of(node, row)
        came = may.came
        if any(known.hidden[r] for r in known.inputs(node)):
            came += 2 * max(self.edges.around(node), known.working) * known.norm[row]
        expected = came + may.rounding
        # What estimates may have missed of inputs that agree allows for more, and explains nothing.
        read = self.facts.expected.operands(node)
        brought = came if any(known.distance[r] > 0 or known.hidden[r] for r in read) else 0.0
        return excess_over(known.distance[row], expected, row, came=brought, told=may.told)

    def _may_hide(self, row: int) -> bool:
        """Whether whole numbers that agree were made of values that do not.

        Of one element that moved by one place all eight signs of a sketch are the same in one case
        of 2⁸; of a mask nothing else is recorded but its extremes.
        """
        maker = self.edges.makers(row).ours if self.known.paired.is_integer(row) else None
        if maker is None:
            return False
        return any(self.known.distance[r] > 0 for r in self.known.inputs(maker))

    def _chose_otherwise(self, node: TreeNode) -> bool:
        """Whether a call that picks puts out something else for inputs that hardly differ."""
        known = self.known
        differs = any(known.distance[r] > 0 for r in known.outputs(node))
        near = all(known.share[r] <= _SAME_CHOICE for r in known.inputs(node))
        return has(node.call, "chooses") and differs and near


def _times(excess: Excess) -> float:
    return excess.times


def _holds_calls(node: TreeNode) -> bool:
    """Whether a node is a module with calls inside, which are judged in its place."""
    is_entry = node.entry is not None and not node.holds_gradients
    return node.kind == "module" and bool(node.children) and is_entry
