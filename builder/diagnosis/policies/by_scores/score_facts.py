"""The facts that scores alone tell: for dumps whose elements were not seen."""

from __future__ import annotations

from functools import cached_property
from math import inf

import numpy as np

from builder.compare.score import score_of
from builder.compare.statistics import Bools, Statistics
from builder.diagnosis.choices import Choices
from builder.diagnosis.excess import PLAIN
from builder.diagnosis.facts import Facts
from builder.diagnosis.policies.by_scores.unlike_parameters import unlike_parameters
from builder.match.tree import TreeNode
from msprobe_core.format import LARGEST

CLEAR = 4.0
# The share of the tolerance that the first difference of two otherwise equal runs has to reach.
_CLEAR_FIRST = 0.5


class ScoreFacts:
    """How near to their tolerance values are, and what statistics hide."""

    def __init__(self, facts: Facts, choices: Choices) -> None:
        self._facts, self._paired = facts, facts.paired
        self.comparison = comparison = facts.comparison
        nodes = comparison.pairs.node
        ratio = comparison.scores.judged / comparison.scores.limit
        self._strain = np.where(np.isnan(ratio), 0.0, ratio)
        self._strained = set(nodes[self._strain > 1.0].tolist())
        inexact = nodes[comparison.scores.error > 0]
        self._first_inexact = int(inexact[0]) if inexact.size else -1
        forgiven = comparison.scores.judged == comparison.scores.limit
        self._forgiven: list[bool] = forgiven.tolist()
        self._forgiving = set(nodes[forgiven].tolist())
        integers = (comparison.scores.error > 0) & ~comparison.is_output & self._paired.integer
        self._changing_integers = set(nodes[integers].tolist())
        changed = set(nodes[list(comparison.differs)].tolist())
        self._noteworthy = facts.diverging | self._forgiving | changed | self._changing_integers
        self._noteworthy |= choices.making_integers
        self._unlike: list[bool] = (unlike := unlike_parameters(comparison)).tolist()
        self._noteworthy |= set(nodes[unlike].tolist())

    @cached_property
    def _hidden(self) -> list[bool]:
        ours, theirs = (statistics.nonfinite for statistics in self.comparison.statistics)
        return list((_are_masked(self.comparison.statistics) | (ours & theirs)).tolist())

    def is_noteworthy(self, node: TreeNode) -> bool:
        """Whether anything about a matched node is not as in its partner."""
        return node.exec_order in self._noteworthy

    def parameters_apart(self, node: TreeNode) -> list[int]:
        """The rows of parameters that diverge, or are apart where nothing has rounded them yet."""
        divergent = self._facts.divergent(node).parameters
        return divergent or [row for row in self._paired.rows(node) if self._unlike[row]]

    def strain(self, node: TreeNode) -> float:
        """How near a node's values are to their tolerance: the largest error over tolerance."""
        rows = self._paired.rows(node)
        if not rows:
            return 0.0
        return float(self._strain[rows.start : rows.stop].max())

    def is_clear(self, rows: list[int]) -> bool:
        """Whether some error is several times its tolerance.

        In a coarse format the scale from tolerance to full error is short, and the rounding of a
        whole pass reaches up to a third of it.
        """
        return self.stands_out(rows, CLEAR)

    def stands_out(self, rows: list[int], usual: float) -> bool:
        """Whether an error is further above its tolerance than was usual."""
        return any(self._strain[row] > usual for row in rows)

    def beyond_tolerance(self, node: TreeNode) -> list[int]:
        """The rows further apart than their tolerance, and no further than the threshold.

        A coarse format has a narrow scale between the two: what loses six of eight bits is there.
        """
        if node.exec_order not in self._strained:
            return []
        divergent = self._facts.is_divergent
        return [r for r in self._paired.rows(node) if self._strain[r] > 1.0 and not divergent[r]]

    def begins_inexactness(self, node: TreeNode) -> bool:
        """Whether all before this node agrees to the last digit and its output plainly does not."""
        inputs = self._paired.read(node)
        return (
            node.exec_order == self._first_inexact
            and not (self.comparison.scores.error[inputs] > 0).any()
            and self.strain(node) > _CLEAR_FIRST
        )

    def inexact_output(self, node: TreeNode) -> str:
        """The key of the output that differs most."""
        rows = [row for row in self._paired.rows(node) if self.comparison.is_output[row]]
        return self.comparison.keys[max(rows, key=lambda row: float(self._strain[row]))]

    def inexact_inputs(self, node: TreeNode) -> list[int]:
        """The rows of inputs that differ at all, within the tolerance or not."""
        is_output, error = self.comparison.is_output, self.comparison.scores.error
        return [row for row in self._paired.rows(node) if not is_output[row] and error[row] > 0]

    def changed_integers(self, node: TreeNode) -> list[int]:
        """The rows of integer inputs that differ at all: integers know no rounding."""
        if node.exec_order not in self._changing_integers:
            return []
        return [row for row in self.inexact_inputs(node) if self._paired.is_integer(row)]

    def forgiven(self, node: TreeNode) -> list[int]:
        """The problem side's output values whose difference is rounding and nothing else."""
        if node.exec_order not in self._forgiving:
            return []
        rows = [
            r for r in self._paired.rows(node) if self._forgiven[r] and self.comparison.is_output[r]
        ]
        return self._paired.problem_values(rows)

    def barely_agreeing(self) -> list[int]:
        """The rows of outputs that agree at their depth and would not at the least depth there is.

        Tolerances grow with depth, so that whether two numbers agree depends on where one asks.
        """
        comparison = self.comparison
        least = np.full_like(comparison.scores.limit, comparison.scores.limit.min(initial=np.inf))
        closest = score_of(comparison.scores.judged, least)
        rows = comparison.is_output & ~self._facts.is_divergent & (closest > self._facts.threshold)
        return list(np.flatnonzero(rows).tolist())

    def hidden_inputs(self, node: TreeNode) -> list[int]:
        """The inputs, by value, whose statistics tell nothing: infinite or masked on both sides.

        Sketches leave masks out, so what has one is not hidden.
        """
        if self.comparison.mode != "statistics":
            return []
        inputs = self._paired.read(node)
        hidden = [row for row in inputs if self._hidden[row] and not self._facts.sees_elements(row)]
        return self._paired.problem_values(hidden)

    def hands_on_distance(self, node: TreeNode) -> bool:
        """Whether what a call read, and rounding, explain how far apart its outputs are.

        Relative errors tell nothing where elements are dropped, or where the terms of a sum or a
        product cancel.
        """
        outputs = self._facts.divergent(node).outputs
        bounded = (self._is_bounded(node, row) for row in outputs)
        return node.kind == "api" and bool(outputs) and all(bounded)

    def _is_bounded(self, node: TreeNode, row: int) -> bool:
        """Whether gains explain how far apart an output is; what was not seen only just so.

        Of what statistics alone tell the least distance is known: no choice and no gradient is
        judged by it.
        """
        known = self._facts.known
        expected, distance = self._facts.expected.of(node, row), known.distance[row]
        if known.seen[row]:
            return expected.told and distance <= PLAIN * expected.distance
        return node.direction == "forward" and expected.told and distance <= expected.distance < inf

    def is_written_otherwise(self, node: TreeNode, inputs: list[int]) -> bool:
        """Whether a call computes the same from inputs in another shape or of another kind.

        Padding before a convolution or by it, a mask of booleans or of minus infinities: where the
        outputs agree, the two forms mean the same.
        """
        outputs = [row for row in self._paired.rows(node) if self.comparison.is_output[row]]
        agree = bool(outputs) and not self._facts.divergent(node).outputs
        compared = any(self.comparison.scores.score[row] >= 0 for row in outputs)
        return agree and compared and all(map(self._facts.is_of_another_form, inputs))


def _are_masked(sides: tuple[Statistics, Statistics]) -> Bools:
    """Which rows hold on both sides numbers as large as masks, beside which nothing else counts."""
    with np.errstate(invalid="ignore"):
        ours, theirs = (np.fmax(*np.abs(statistics.table[:2])) >= LARGEST for statistics in sides)
    return np.asarray(ours & theirs)
