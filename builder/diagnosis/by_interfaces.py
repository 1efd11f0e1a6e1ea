"""Where a difference begins between two programs of one model: at the edges of their modules.

What either program calls inside a module is its own affair, so scores of inner calls tell nothing.
A difference begins in the innermost module whose inputs agree and at whose edges, or at those of a
module inside it, something does not; unless the module around it puts out what agrees.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from builder.compare.comparison import Comparison
from builder.diagnosis.blame import Walked
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.match.tree import Tree, TreeNode, subtree
from builder.operators.table import has
from builder.reasons import InputDiffers, Introduced, ParameterDiffers
from msprobe_core.format import is_integer_dtype, machine_epsilon

# A sum hands on the whole of a difference that stands in one of its terms, and rounding hides less
# than half of one that diverges: a residual leaves more than this, another way to the same result
# leaves rounding.
_HANDED_ON = 0.5
# Twice the rounding of both sides: a module that reads what is nearer was fed the same.
_SAME = 2.0
# Outputs of a module whose weights differ are further apart than its inputs; by how much rounding
# alone takes two equal modules apart is no more than this.
_WEIGHED = 2.0


def walk_by_interfaces(comparison: Comparison, threshold: float) -> Walked:
    """The modules where a difference begins, in order; the rest of what diverges carries it."""
    edges = _Edges(Facts(comparison, threshold))
    findings = list(edges.findings())
    named = {finding.node for finding in findings}
    for finding in findings[:1]:
        finding.carriers += [n for n in edges.apart if n not in named]
    untold = () if findings else tuple(edges.picked_otherwise)
    return Walked(findings, frozenset(), None, by_scores=True, untold=untold)


class _Edges:
    """What the edges of matched nodes show; `apart` are those that diverge at one, in order.

    `picked_otherwise` are the modules that chose other elements of numbers that agree, as a router
    does where two experts are all but equal: what they put out tells nothing. It is known once the
    findings are.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._matching = matching = facts.comparison.matching
        nodes = [n for n in matching.problem.in_order if n in matching.partner and n.kind != "root"]
        self.apart = [node for node in nodes if self._diverging(node)]
        self._other_weights = [n for n in nodes if facts.divergent(n).parameters]
        self.picked_otherwise: list[TreeNode] = []

    def findings(self) -> Iterator[Finding]:
        """Where it begins in the forward pass, or else in the backward pass; or with weights."""
        for direction in ("forward", "backward"):
            found = list(self._of_pass([n for n in self.apart if n.direction == direction]))
            yield from found
            if found or self.picked_otherwise:
                return
            if direction == "forward" and (weights := list(self._of_weights())):
                yield from weights
                return

    def _of_pass(self, apart: list[TreeNode]) -> Iterator[Finding]:
        first: TreeNode | None = None
        for node in apart:
            if self._heals(node):
                continue
            if first is None:
                begins = self._innermost_fed_alike(node)
                if self._picks_otherwise(begins or node):
                    self.picked_otherwise.append(begins or node)
                    return
                first = begins or node
                yield self._finding(begins) if begins is not None else self._fed(node)
            elif self._is_another(node, first):
                yield self._finding(node)

    def _innermost_fed_alike(self, node: TreeNode) -> TreeNode | None:
        """The node, or the nearest matched module around it, that was fed the same."""
        for around in (node, *_above(node)):
            if around in self._matching.partner and self._is_fed_alike(around):
                return around
        return None

    def _is_another(self, node: TreeNode, first: TreeNode) -> bool:
        """Whether a node is a beginning besides one: what it read is the same to the last digit."""
        facts, comparison = self._facts, self._facts.comparison
        if not facts.divergent(node).outputs or first in (node, *_above(node)):
            return False
        if node in _above(first) or not self._is_fed_alike(node):
            return False
        return all(
            comparison.error[row]
            <= _SAME * (machine_epsilon(facts.paired.ours[row].dtype or "") or 0.0)
            for row in self._tensors_read(node)
        )

    def _of_weights(self) -> Iterator[Finding]:
        """Of modules fed alike, weights that differ and move their outputs, however little."""
        error = self._facts.comparison.error
        for node in self._other_weights:
            made = self._made(node)
            read = max((error[row] for row in self._tensors_read(node)), default=0.0)
            known = [float(error[row]) for row in made if not isnan(error[row])]
            if known and max(known) > _WEIGHED * read and self._is_fed_alike(node):
                yield self._finding(node)

    # --- findings ---------------------------------------------------------------------------------

    def _finding(self, node: TreeNode) -> Finding:
        """A module in which a difference begins, or whose weights differ."""
        facts, rows = self._facts, self._facts.divergent(node)
        score, before = facts.scores(node)
        if rows.parameters:
            differs = ParameterDiffers(*facts.worst_score(rows.parameters))
            return Finding(
                "parameter_differs", node, "problem", node.exec_order, [differs], score, before
            )
        made = self._made(node)
        known = [r for r in made if not isnan(facts.comparison.score[r])]
        said = Introduced(*facts.worst_score(rows.outputs or known or made), before or 0.0)
        return Finding("introduced", node, "problem", node.exec_order, [said], score, before)

    def _fed(self, node: TreeNode) -> Finding:
        """What is fed otherwise outside all modules."""
        read = self._facts.divergent(node).inputs
        if not read:
            return self._finding(node)
        score, before = self._facts.scores(node)
        said = InputDiffers(*self._facts.worst_score(read))
        return Finding("input_differs", node, "problem", node.exec_order, [said], score, before)

    # --- what edges show --------------------------------------------------------------------------

    def _diverging(self, node: TreeNode) -> list[int]:
        rows = self._facts.divergent(node)
        return [*rows.inputs, *rows.outputs]

    def _made(self, node: TreeNode) -> list[int]:
        paired = self._facts.paired
        return [row for row in paired.rows(node) if paired.is_output[row]]

    def _tensors_read(self, node: TreeNode) -> list[int]:
        facts, error = self._facts, self._facts.comparison.error
        read = facts.paired.read(node)
        keys = facts.comparison.keys
        return [r for r in read if not isnan(error[r]) and not keys[r].startswith("parameters.")]

    def _is_fed_alike(self, node: TreeNode) -> bool:
        """Whether all that a node reads agrees, and something of it was compared.

        Elements in another order are not the same to a module, unless its weights moved with them,
        which nothing recorded tells.
        """
        read = self._tensors_read(node)
        moved, paired = self._matching.moved, self._facts.paired
        if not read or self._facts.divergent(node).inputs:
            return False
        return not any(paired.value_pair(row)[0] in moved for row in read)

    def _heals(self, node: TreeNode) -> bool:
        """Whether the module around a node puts out what agrees, so that it computes otherwise.

        Not where it hands the difference on beside larger numbers, as a residual does: then its
        outputs are as far apart as the node's, by the norm of the difference, however near they
        are in relation to themselves. A module of which some outputs have no partner proves
        nothing, and the one around it is asked.
        """
        comparison, divergent = self._facts.comparison, self._facts.divergent
        for around in _above(node):
            rows = self._made(around)
            if rows and not any(isnan(comparison.error[r]) for r in rows):
                apart = self._distance(divergent(node).outputs or divergent(node).inputs)
                handed_on = self._distance(rows) > _HANDED_ON * apart
                return not divergent(around).outputs and not handed_on
        return False

    def _distance(self, rows: list[int]) -> float:
        return max((float(self._facts.comparison.distance[row]) for row in rows), default=0.0)

    def _picks_otherwise(self, node: TreeNode) -> bool:
        """Whether calls inside a node picked other elements, though what they ranked agrees.

        The scores that are ranked are what a module inside puts out, a router, which agrees; the
        indices differ all the same.
        """
        partner = self._matching.partner.get(node)
        if partner is None:
            return False
        inside = [n for n in self.apart if n is not node and node in _above(n)]
        ours, theirs = (
            _picked(one, tree)
            for one, tree in ((node, self._matching.problem), (partner, self._matching.benchmark))
        )
        return not inside and bool(ours) and len(ours) == len(theirs) and ours != theirs


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


def _above(node: TreeNode) -> Iterator[TreeNode]:
    """The modules around a node, the innermost first."""
    around = node.parent
    while around is not None:
        yield around
        around = around.parent
