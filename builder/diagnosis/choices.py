"""Calls that pick elements: where rounding may pick others, and what tells a tie from a fault."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan

from builder.diagnosis.facts import Facts
from builder.match.tree import TreeNode
from builder.operators.table import has
from msprobe_core.format import canonical_dtype


class Choices:
    """Which calls picked other elements, and because of what."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._paired, self._comparison = facts, facts.paired, facts.comparison
        made = (
            (self._comparison.scores.error > 0) & self._comparison.is_output & self._paired.integer
        )
        self.making_integers = set(self._comparison.pairs.node[made].tolist())

    def picked_otherwise(self, node: TreeNode) -> bool:
        """Whether a call ranked numbers that agree to rounding, or fully, and picked others."""
        if node.direction != "forward" or not self.made_integers(node):
            return False
        read = [r for r in self._paired.read(node) if self._paired.ours[r].dtype is not None]
        floating = [row for row in read if not self._paired.is_integer(row)]
        errors = self._comparison.scores.judged[floating]
        agree = bool((errors <= self._comparison.scores.limit[floating]).all())
        ranks = has(node.call, "chooses", "picks") or self.is_selection(node)
        return ranks and bool(floating) and agree

    def is_tie(self, node: TreeNode) -> bool:
        """Whether what was picked otherwise is a tie: it is as large in one run as in the other.

        Which number was picked is evidence of that, and which place alone is none: a wrong place of
        a wrong kernel looks the same.
        """
        is_output, score = self._comparison.is_output, self._comparison.scores.score
        rows = [
            r for r in self._paired.rows(node) if is_output[r] and not self._paired.is_integer(r)
        ]
        picked = [r for r in rows if self._paired.ours[r].dtype is not None and not isnan(score[r])]
        return bool(picked) and all(score[row] == 0 for row in picked)

    def is_selection(self, node: TreeNode) -> bool:
        """Whether a call picks elements, so that equal statistics or rounding decide nothing.

        It turns masks into indices, ranks numbers that differ by rounding, or sends a gradient back
        to elements that were picked so.
        """
        rows = [row for row in self._paired.rows(node) if self._paired.ours[row].dtype is not None]
        inputs = [row for row in rows if not self._comparison.is_output[row]]
        if node.direction == "backward":
            return self._picks_back(node)
        if not inputs or not all(
            self._paired.is_integer(row) for row in self._facts.divergent(node).outputs
        ):
            return False
        masks = all(canonical_dtype(self._paired.ours[row].dtype or "") == "bool" for row in inputs)
        if masks:
            return all(self._paired.is_integer(row) for row in rows)
        return self._is_rounded(inputs)

    def made_integers(self, node: TreeNode) -> list[int]:
        """The rows of integer outputs that differ at all."""
        if node.exec_order not in self.making_integers:
            return []
        is_output, error = self._comparison.is_output, self._comparison.scores.error
        rows = (
            row
            for row in self._paired.rows(node)
            if is_output[row] and self._paired.is_integer(row)
        )
        return [row for row in rows if error[row] > 0]

    def _picks_back(self, node: TreeNode) -> bool:
        """Whether a gradient of the same size goes to other elements, after rounding decided."""
        forward = node.forward
        if forward is None:
            return False
        decided = self._paired.rows(forward)
        differ = bool((self._comparison.scores.error[decided] > 0).any())
        agree = bool((self._comparison.scores.score[decided] <= self._facts.threshold).all())
        if differ and agree and has(node.call, "gates") and self._are_gated(node, forward):
            return True
        if not self._is_rounded(decided):
            return False
        outputs = self._facts.divergent(node).outputs
        same_size = all(
            self._comparison.distances.norm_error[r] <= self._comparison.scores.limit[r]
            for r in outputs
        )
        return has(node.call, "picks") and same_size

    def _are_gated(self, node: TreeNode, forward: TreeNode) -> bool:
        """Whether rounding explains that a gradient passes through other elements."""
        known = self._facts.known
        read = known.inputs(forward), known.inputs(node)
        allowed = self._facts.expected.gated(forward, *read)
        return all(known.distance[row] <= allowed for row in self._facts.divergent(node).outputs)

    def _is_rounded(self, rows: Iterable[int]) -> bool:
        """Whether some floating value differs, and none by more than the tolerance."""
        floating = [row for row in rows if not self._paired.is_integer(row)]
        errors = self._comparison.scores.judged[floating]
        return bool(
            (errors > 0).any() and (errors <= self._comparison.scores.limit[floating]).all()
        )
