"""Whether differences heal: all that a step puts out agrees, and nothing of them is left behind.

Two programs that compute the same in other ways differ on the way. A step puts out what its
outermost calls and modules put out and nobody reads again, the loss among it, the gradients that go
back through its outermost modules, and the gradients of parameters.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from builder.diagnosis.changes import are_of_one_run, scope_of
from builder.diagnosis.end_results import EndResults, are_one_number
from builder.diagnosis.excess import OF_WEIGHTS, PLAIN
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.diagnosis.own_healing import Agrees, BothEdges, OwnHealing
from builder.dump.statistic_cells import constant_of
from builder.dump.values import Record
from builder.flow.feeding import Flow
from builder.match.tree import TreeNode
from builder.match.updated_parameters import OPTIMIZER
from builder.operators.table import has
from builder.reasons import ArgumentDiffers, AttributeDiffers

# Data, weights, formats and NaN are no way to compute something: what is said of them stays.
_WAYS = frozenset(("introduced", "argument_differs", "input_differs"))


class Healing:
    """What of one compared step is there when it has ended; `flows` are those of both runs."""

    def __init__(self, facts: Facts, flows: tuple[Flow, Flow]) -> None:
        self._facts, self._known = facts, facts.known
        self._stated = facts.comparison.scores.stated
        self._partner = facts.comparison.matching.partner
        order = facts.comparison.matching.problem.in_order
        gradients = (n.exec_order for n in order if n.direction == "backward" and n.kind == "api")
        self._last_gradient = max(gradients, default=-1)
        self._ends, self._theirs = EndResults(flows[0]), EndResults(flows[1])
        edges = BothEdges(flows)
        self._own = OwnHealing(facts, edges, self._agrees)
        self._own_of_arguments = OwnHealing(facts, edges, self._is_rounded)

    def heals(self, findings: Iterable[Finding]) -> bool:
        """Whether all that the step puts out agrees, and each finding is about a way to it."""
        listed = list(findings)
        agrees = self._is_rounded if any(map(self._is_alone, listed)) else self._agrees
        if all(finding.kind == "parameter_differs" for finding in listed):
            agrees = self._is_as_weights_are
        return (
            bool(listed)
            and all(map(self._passes, listed))
            and self._results_agree(agrees, self._healed(listed))
        )

    def heals_by_itself(self, finding: Finding) -> bool:
        """Whether nothing is left of one finding, though others may leave something."""
        own = self._own_of_arguments if self._is_alone(finding) else self._own
        return self._passes(finding) and own.heals(finding)

    def _healed(self, findings: Iterable[Finding]) -> set[TreeNode]:
        """The calls, and modules of one such call, that differ by what results do not depend on."""
        idle = (f for f in findings if f.kind == "parameter_differs" and self._own.heals(f))
        calls = {call for finding in idle for call in self._own.region(finding)}
        around = {call.parent for call in calls if call.parent is not None}
        return calls | {module for module in around if calls.issuperset(module.children)}

    def _results_agree(self, agrees: Agrees, healed: set[TreeNode]) -> bool:
        """Whether every result of either run agrees; one that cannot be compared does not."""
        results, theirs = self._ends.listed(), self._theirs.listed()
        if any(are_of_one_run(node, self._partner) for node in results + theirs):
            return False
        if not self._come_to_the_same(results, theirs):
            return False
        results = [node for node in results if node in self._partner]
        rows = [row for node in results if node not in healed for row in self._known.outputs(node)]
        return bool(rows) and all(map(agrees, rows))

    def _come_to_the_same(self, ours: list[TreeNode], theirs: list[TreeNode]) -> bool:
        """Whether each result without a partner is one number that a result of the other run is.

        As a loss is that one run divides by a count, and the other does not.
        """
        return self._are_found(self._ends, ours, self._theirs, theirs) and self._are_found(
            self._theirs, theirs, self._ends, ours
        )

    def _are_found(
        self, ends: EndResults, own: list[TreeNode], others: EndResults, of: list[TreeNode]
    ) -> bool:
        """Whether the results of one run alone are among the other's that have no such partner."""
        paired = {self._partner.get(node) for node in own}
        left = others.numbers(node for node in of if node not in paired)
        lone = ends.numbers(node for node in own if node not in self._partner)
        return all(any(are_one_number(one, other) for other in left) for one in lone)

    def _agrees(self, row: int) -> bool:
        """Whether a value is within its tolerance, or apart by less than any finding has to be."""
        known = self._known
        if known.hidden[row]:
            return False
        if self._stated[row] == 0 or known.distance[row] <= PLAIN * known.noise[row]:
            return True
        return self._facts.expected.is_idle(row)

    def _is_as_weights_are(self, row: int) -> bool:
        """Whether a value agrees, or is off by what calls make of weights that are rounded apart.

        So an optimizer leaves all weights beside one that is moved by chance.
        """
        left = OF_WEIGHTS * self._known.noise[row]
        return self._agrees(row) or (
            not self._known.hidden[row] and self._known.distance[row] <= left
        )

    def _is_rounded(self, row: int) -> bool:
        """Whether one rounding explains it: another ε or scale may move all by no more than two."""
        if self._known.hidden[row]:
            return False
        return self._known.is_rounded(row) or self._facts.expected.is_idle(row)

    def _is_alone(self, finding: Finding) -> bool:
        """Whether a finding is another argument, and no other change undoes what it does."""
        return self.may_move_all(finding) and not self._own.meets_changes(finding)

    def _passes(self, finding: Finding) -> bool:
        """Whether a finding is about a way to compute something, and leaves nothing behind."""
        if finding.kind == "parameter_differs":
            return self._own.depends_on_none(finding.node)
        if finding.kind not in _WAYS or finding.inherits:
            return False
        if self._runs_behind(finding.node) and not self._is_updated_alike(finding):
            return False
        if any(isinstance(r, AttributeDiffers) for r in finding.reasons):
            return False  # a gradient that one run alone wants leaves no value that could differ
        if has(finding.node.call, "remembers"):
            return False
        ours = [] if finding.side == "benchmark" else [finding.node]
        return not any(self._leaves_something(node) for node in (*ours, *finding.carriers))

    def _runs_behind(self, node: TreeNode) -> bool:
        """Whether a node runs behind all of the backward pass: functions may have one of calls."""
        return node.phase == "after" and node.exec_order > self._last_gradient

    def _is_updated_alike(self, finding: Finding) -> bool:
        """Whether a finding comes before optimizers that read and put out the same in both runs.

        So it is where gradients are averaged one by one, or all of them in one flat tensor. The
        updated weights alone would prove nothing: beside them a small step is rounding.
        """
        own = self._optimizers[finding.side == "benchmark"]
        if not own or finding.node.exec_order > own[0].exec_order:
            return False
        return self._optimizers_agree

    @cached_property
    def _optimizers_agree(self) -> bool:
        """Whether each run's optimizers make the other's calls, of values that agree."""
        sides = self._optimizers
        if any(are_of_one_run(node, self._partner) for side in sides for node in side):
            return False
        rows = [row for node in sides[0] for row in self._facts.paired.rows(node)]
        return bool(rows) and all(map(self._agrees, rows))

    @cached_property
    def _optimizers(self) -> tuple[list[TreeNode], list[TreeNode]]:
        """The calls of the optimizers of either run, in their order."""
        matching = self._facts.comparison.matching
        ours, theirs = (
            [node for node in tree.in_order if node.kind == "api" and _is_of_optimizer(node)]
            for tree in (matching.problem, matching.benchmark)
        )
        return ours, theirs

    def _leaves_something(self, node: TreeNode) -> bool:
        """Whether a node puts out otherwise what no recorded call reads: a state for the next step.

        What modules put out their calls have put out before; results and gradients are looked at as
        such.
        """
        if node.kind == "module" or node.direction == "backward":
            return False
        if scope_of(node) is None and node.phase == "forward":
            return False
        if node not in self._partner:
            return self._ends.has_unread(node)
        apart = (row for row in self._known.outputs(node) if not self._agrees(row))
        return any(self._ends.is_unread(self._facts.paired.value_pair(row)[0]) for row in apart)

    def may_move_all(self, finding: Finding) -> bool:
        """Whether an argument may move all numbers by a little, as another ε or scale does.

        Not one by which a call puts out another size, as the width of a margin; nor one number that
        is plain here and a tensor there.
        """
        if finding.kind != "argument_differs":
            return False
        if finding.node not in self._partner:
            return True
        told = {r.value for r in finding.reasons if isinstance(r, ArgumentDiffers)}
        keys, paired = self._facts.comparison.keys, self._facts.paired
        rows = paired.rows(finding.node)
        sizes = [(paired.ours[row].shape, paired.theirs[row].shape) for row in self._made(rows)]
        if any(ours != theirs for ours, theirs in sizes):
            return False
        given = [(paired.ours[row], paired.theirs[row]) for row in rows if keys[row] in told]
        return not given or not all(_is_one_number(*pair) for pair in given)

    def _made(self, rows: Iterable[int]) -> list[int]:
        return [row for row in rows if self._facts.comparison.is_output[row]]


def _is_of_optimizer(node: TreeNode) -> bool:
    return (node.top or node).name == OPTIMIZER


def _is_one_number(one: Record, other: Record) -> bool:
    """Whether a plain number stands beside a tensor that holds no other."""
    plain, tensor = (one, other) if one.dtype is None else (other, one)
    if plain.dtype is not None or tensor.dtype is None or not isinstance(plain.value, int | float):
        return False
    return constant_of(tensor.Max, tensor.Min) == plain.value
