"""Where a difference begins between two programs of one model: at the edges of their modules.

What either program calls inside a module is its own affair, so scores of inner calls tell nothing.
A difference begins in the innermost module whose inputs agree and at whose edges, or at those of a
module inside it, something does not; unless the module around it puts out what agrees. Of a module
that the other program has no partner for, inputs agree that are equal to values which do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import isnan

from builder.compare.comparison import Comparison
from builder.diagnosis.blame import Flows, Walked, flows_of
from builder.diagnosis.choice_margins import ChoiceMargin
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.diagnosis.first_tokens import shows_at_few_tokens
from builder.diagnosis.left_values import leaves_at
from builder.diagnosis.module_edges import ModuleEdges, above
from builder.match.tree import Tree, TreeNode, outputs_of, subtree
from builder.operators.table import has
from builder.reasons import (
    ArgumentDiffers,
    InputDiffers,
    Introduced,
    IntroducedInside,
    LeavesValues,
    Reason,
)
from msprobe_core.format import is_half_format, is_integer_dtype, machine_epsilon

# Twice the rounding of both sides: a module that reads what is nearer was fed the same.
_SAME = 2.0
# Outputs of a module whose weights differ are further apart than its inputs; by how much rounding
# alone takes two equal modules apart is no more than this.
_WEIGHED = 2.0
_READ_ALONE = 2  # inputs of one program alone that a finding tells


def walk_by_interfaces(
    comparison: Comparison,
    threshold: float,
    flows: Flows | None = None,
    margins: Sequence[ChoiceMargin] = (),
) -> Walked:
    """The modules where a difference begins, in order; the rest of what diverges carries it."""
    edges = ModuleEdges(Facts(comparison, threshold), *(flows or flows_of(comparison)))
    walk = _Walk(edges, margins)
    findings = walk.nearer(list(walk.findings()))
    named = {finding.node for finding in findings}
    for finding in findings[:1]:
        finding.carriers += [n for n in walk.edges.apart if n not in named]
    picked = [] if findings else walk.picked_otherwise
    return Walked(
        findings,
        frozenset(),
        None,
        by_scores=not walk.edges.has_sketches,
        untold=tuple(node for node in picked if not walk.margins_in(node)),
        unjudged=tuple(node for node in picked if walk.margins_in(node)),
    )


class _Walk:
    """One way over what is apart.

    `picked_otherwise` are the modules that chose other elements of numbers that agree, as a router
    does where two experts are all but equal: what they put out tells nothing. It is known once the
    findings are.
    """

    def __init__(self, edges: ModuleEdges, margins: Sequence[ChoiceMargin]) -> None:
        self.edges, self._margins = edges, margins
        self._facts, self._matching = edges.facts, edges.matching
        self._other_weights = [n for n in edges.nodes if self._facts.divergent(n).parameters]
        self._ways: set[str] = set()  # places of layers at which the two compute otherwise
        self.picked_otherwise: list[TreeNode] = []

    def findings(self) -> Iterator[Finding]:
        """Where it begins in the forward pass, or else in the backward pass; or with weights."""
        for direction in ("forward", "backward"):
            apart = [node for node in self.edges.apart if node.direction == direction]
            found = list(self._of_pass(apart))
            yield from found
            if found or self.picked_otherwise:
                return
            if direction == "forward" and (weights := list(self._of_weights())):
                yield from weights
                return

    def margins_in(self, node: TreeNode) -> list[ChoiceMargin]:
        """The calls inside a node that chose otherwise and whose margins are known."""
        return [each for each in self._margins if node in above(each.node)]

    def nearer(self, findings: list[Finding]) -> list[Finding]:
        """The findings, of which the first is where the values of the other program are left.

        Only where nothing else was compared: inside a module of which a value further on differs,
        before a call that is fed otherwise, or in a module without a partner that in a layer before
        puts out what the other program has. In half formats before such a call alone: of elements
        in another order nothing tells there that they are the same.
        """
        if not findings or findings[0].node.direction != "forward":
            return findings
        first, *others = findings
        is_coarse = isinstance(first.reasons[0], Introduced) and first.node.kind == "module"
        if not is_coarse and not isinstance(first.reasons[0], IntroducedInside | InputDiffers):
            return findings
        edges = self.edges
        left = leaves_at(edges.met, self._matching.problem, edges.handed_on, set(edges.apart))
        if left is None or left[0].exec_order > first.node.exec_order:
            return findings
        is_half = is_half_format(self._matching.problem.dump.values.records[left[1]].dtype or "")
        if is_half and not isinstance(first.reasons[0], InputDiffers):
            return findings
        found = self._left(*left, first)
        if is_coarse and not (first.node in above(found.node) and self._is_met_before(found.node)):
            return findings
        return [found, *others]

    def _is_met_before(self, node: TreeNode) -> bool:
        """Whether a module at the same place of a layer before puts out a value of the other's."""
        tree = self._matching.problem
        return node not in self._matching.partner and any(
            any(index in self.edges.met.indices for index in outputs_of(other, tree))
            for other in tree.in_order[: node.exec_order]
            if other.kind == "module" and _place(other) == _place(node)
        )

    def _left(self, call: TreeNode, value: int, shown: Finding) -> Finding:
        """A beginning in the module that a call stands in, or at the call outside all of them.

        What a module reads in another order than its partner, and the module around it does not,
        may have been moved wrongly on the way.
        """
        node, *around = [each for each in (call, *above(call)) if each.kind == "module"] or [call]
        if around and self._reads_moved(node) and not self._reads_moved(around[0]):
            node = around[0]
        said = LeavesValues(self._matching.problem.dump.values.keys[value], call.name)
        return Finding("introduced", node, "problem", node.exec_order, [said], shown.score, 0.0)

    def _reads_moved(self, node: TreeNode) -> bool:
        keys, moved = self._matching.problem.dump.values.keys, self._matching.moved
        return any(i in moved and keys[i].startswith("input") for i in range(*node.values))

    def _of_pass(self, apart: list[TreeNode]) -> Iterator[Finding]:
        edges = self.edges
        first: TreeNode | None = None
        for node in apart:
            if self._is_another_way(node):
                continue
            if first is not None:
                if self._is_another(node, first):
                    yield self._finding(node)
                continue
            begins = edges.innermost_fed_alike(node)
            earlier = edges.jumped_before(node)
            if earlier is not None and self._is_another_way(earlier):
                earlier = None
            if earlier is None and not edges.grows_in(begins, node):
                continue
            if begins is None and earlier is None and edges.is_rounding_of_gradients(node):
                continue
            begins = earlier or begins
            if self._picks_otherwise(begins or node):
                self.picked_otherwise.append(begins or node)
                return
            first = begins or node
            yield self._fed(node) if begins is None else self._begins(begins, node)

    def _is_another_way(self, node: TreeNode) -> bool:
        """Whether what differs heals: there, at the same place of a layer before, or forward.

        A norm that is folded into the next weight differs in all layers; behind a fault it would
        not seem to heal. With a forward call its gradient at the same edge is another one.
        """
        if self.edges.heals(node):
            self._ways.add(_place(node))
            return True
        return _place(node) in self._ways or node.forward in self._healed

    @cached_property
    def _healed(self) -> frozenset[TreeNode]:
        """The forward calls that heal."""
        apart = [node for node in self.edges.apart if node.direction == "forward"]
        return frozenset(node for node in apart if self.edges.heals(node))

    def _is_another(self, node: TreeNode, first: TreeNode) -> bool:
        """Whether a node is a beginning besides one: what it read is the same to the last digit."""
        facts, comparison = self._facts, self._facts.comparison
        if not facts.divergent(node).outputs or first in (node, *above(node)):
            return False
        if node in above(first) or not self.edges.is_fed_alike(node):
            return False
        return all(
            comparison.scores.error[row]
            <= _SAME * (machine_epsilon(facts.paired.ours[row].dtype or "") or 0.0)
            for row in self.edges.tensors_read(node)
        )

    def _of_weights(self) -> Iterator[Finding]:
        """Of modules fed alike, weights that differ and move their outputs, however little."""
        error = self._facts.comparison.scores.error
        for node in self._other_weights:
            made = self.edges.made(node)
            known = [float(error[row]) for row in made if not isnan(error[row])]
            is_moved = bool(known) and max(known) > _WEIGHED * self.edges.noise(node)
            if is_moved and self.edges.is_fed_alike(node) and not self._is_another_way(node):
                yield self._finding(node)

    # --- findings ---------------------------------------------------------------------------------

    def _begins(self, module: TreeNode, shown: TreeNode) -> Finding:
        """A beginning that shows at a node inside it, where the module has no partner."""
        if module in self._matching.partner:
            return self._finding(module)
        score, before = self._facts.scores(shown)
        said = IntroducedInside(*self._facts.worst_score(self.edges.diverging(shown)), shown.name)
        return Finding("introduced", module, "problem", module.exec_order, [said], score, before)

    def _finding(self, node: TreeNode) -> Finding:
        """A module in which a difference begins, or whose weights differ."""
        facts, rows = self._facts, self._facts.divergent(node)
        score, before = facts.scores(node)
        if rows.parameters:
            differs, more = facts.parameter_reasons(rows.parameters)
            told: list[Reason] = [differs, *more]
            return Finding(
                "parameter_differs", node, "problem", node.exec_order, told, score, before
            )
        made = self.edges.made(node)
        known = [r for r in made if not isnan(facts.comparison.scores.score[r])]
        said = Introduced(*facts.worst_score(rows.outputs or known or made), before or 0.0)
        reasons: list[Reason] = [said, *self._read_alone(node)]
        return Finding("introduced", node, "problem", node.exec_order, reasons, score, before)

    def _read_alone(self, node: TreeNode) -> list[ArgumentDiffers]:
        """What one program alone hands to a module: the inputs that agree are not all of them."""
        comparison = self._facts.comparison
        return [
            self._facts.argument_reason(row)
            for row in self._facts.paired.rows(node)
            if comparison.is_surplus(row) and comparison.keys[row].startswith("input")
        ][:_READ_ALONE]

    def _fed(self, node: TreeNode) -> Finding:
        """What is fed otherwise outside all modules."""
        read = self._facts.divergent(node).inputs
        if not read:
            return self._finding(node)
        score, before = self._facts.scores(node)
        said = InputDiffers(*self._facts.worst_score(read))
        return Finding("input_differs", node, "problem", node.exec_order, [said], score, before)

    def _picks_otherwise(self, node: TreeNode) -> bool:
        """Whether calls inside a node picked other elements, though what they ranked agrees.

        The scores that are ranked are what a module inside puts out, a router, which agrees; the
        indices differ all the same. Of aligned tokens the indices have no partners: there rounding
        decides for few, and what is wrong with experts shows at most tokens.
        """
        partner = self._matching.partner.get(node)
        if partner is None:
            return False
        inside = [n for n in self.edges.apart if n is not node and node in above(n)]
        ours, theirs = (
            _picked(one, tree)
            for one, tree in ((node, self._matching.problem), (partner, self._matching.benchmark))
        )
        if self._matching.token_errors is not None:
            few = shows_at_few_tokens(self._facts.comparison, self.edges.made(node))
            return not inside and bool(ours) and bool(theirs) and few
        if not all(each.is_inside for each in self.margins_in(node)):
            return False  # the numbers do not explain the choice
        return not inside and bool(ours) and len(ours) == len(theirs) and ours != theirs


def _place(node: TreeNode) -> str:
    """A node's name without its numbers, which layers have alike."""
    return re.sub(r"\d+", "#", node.name)


def _picked(node: TreeNode, tree: Tree) -> list[str]:
    """What the calls inside a node that rank put out as indices, by the sketches of those."""
    records, keys = tree.dump.values.records, tree.dump.values.keys
    return [
        records[i].sketch or ""
        for inner in sorted(subtree(node), key=lambda each: each.exec_order)
        if inner.direction == "forward" and has(inner.call, "picks")
        for i in range(*inner.values)
        if keys[i].startswith("output") and is_integer_dtype(records[i].dtype or "")
    ]
