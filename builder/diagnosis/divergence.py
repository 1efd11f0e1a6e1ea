"""Which nodes diverge, in which of their values, and how far."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.score import score_of
from builder.compare.statistics import Floats
from builder.diagnosis.paired_values import PairedValues
from builder.dump.values import Record
from builder.match.tree import TreeNode
from builder.reasons import ArgumentDiffers
from msprobe_core.format import canonical_dtype


@dataclass(slots=True)
class DivergentRows:
    """The divergent value pairs of one node, by what they mean; rows of the comparison."""

    inputs: list[int] = field(default_factory=list)
    arguments: list[int] = field(default_factory=list)
    parameters: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)


_NONE = DivergentRows()


class Divergence(PairedValues):
    """A comparison with a threshold above which a value diverges."""

    def __init__(self, comparison: Comparison, threshold: float) -> None:
        super().__init__(comparison)
        self.threshold = threshold
        nodes = comparison.pairs.node
        with np.errstate(invalid="ignore"):
            self._is_divergent = comparison.score > threshold
        self._divergent: list[bool] = self._is_divergent.tolist()
        surplus = nodes[sorted(self.surplus_arguments)].tolist()
        self._any = {*nodes[self._is_divergent].tolist(), *surplus}
        self._classes: dict[int, DivergentRows] = {}
        self._scores = _numbers(comparison.node_score)
        self._input_scores = _numbers(comparison.node_input_score)
        forgiven = comparison.judged == comparison.limit
        self._forgiven: list[bool] = forgiven.tolist()
        self._forgiving = set(nodes[forgiven].tolist())
        inexact_integers = (comparison.error > 0) & ~comparison.is_output & self.integer
        self._changing_integers = set(nodes[inexact_integers].tolist())
        made_integers = (comparison.error > 0) & comparison.is_output & self.integer
        self._making_integers = set(nodes[made_integers].tolist())
        changed = set(nodes[list(comparison.differs)].tolist())
        self._noteworthy = self._any | self._forgiving | changed
        self._noteworthy |= self._changing_integers | self._making_integers

    def is_noteworthy(self, node: TreeNode) -> bool:
        """Whether anything about a matched node is not as in its partner."""
        return node.exec_order in self._noteworthy

    def scores(self, node: TreeNode) -> tuple[float | None, float | None]:
        """The score and the input score of a node."""
        return self._scores[node.exec_order], self._input_scores[node.exec_order]

    def reads(self, node: TreeNode) -> float:
        """The worst score of all that a node computes from.

        A backward call reads its forward call's values, and a parameter's gradient comes from the
        gradient that flows into the module; neither stands in the entry itself.
        """
        known = [self.scores(node)[1]]
        if node.direction == "backward":
            known += self.scores(node.forward) if node.forward is not None else ()
            # Gradients alone have a backward entry beside them.
            known += [self.scores(node.backward)[1]] if node.backward is not None else ()
        return max((score for score in known if score is not None), default=0.0)

    def forgiven(self, node: TreeNode) -> list[int]:
        """The problem side's output values whose difference is rounding and nothing else."""
        if node.exec_order not in self._forgiving:
            return []
        rows = [r for r in self.rows(node) if self._forgiven[r] and self.comparison.is_output[r]]
        return self.problem_values(rows)

    def barely_agreeing(self) -> list[int]:
        """The rows of outputs that agree at their depth and would not at the least depth there is.

        Tolerances grow with depth, so that whether two numbers agree depends on where one asks.
        """
        comparison = self.comparison
        least = np.full_like(comparison.limit, comparison.limit.min(initial=np.inf))
        closest = score_of(comparison.judged, least)
        rows = comparison.is_output & ~self._is_divergent & (closest > self.threshold)
        return list(np.flatnonzero(rows).tolist())

    def divergent(self, node: TreeNode) -> DivergentRows:
        """The rows of a node whose score exceeds the threshold."""
        if node.exec_order not in self._any:
            return _NONE
        rows = self._classes.get(node.exec_order)
        if rows is None:
            rows = self._classes[node.exec_order] = self._classified(node)
        return rows

    def _classified(self, node: TreeNode) -> DivergentRows:
        classes = DivergentRows()
        for row in self.rows(node):
            if row in self.surplus_arguments and not self.comparison.is_output[row]:
                classes.arguments.append(row)
            if not self._divergent[row]:
                continue
            if self.comparison.is_output[row]:
                classes.outputs.append(row)
            elif self.comparison.keys[row].startswith("parameters."):
                classes.parameters.append(row)
            elif self.ours[row].dtype is None or self.theirs[row].dtype is None:
                classes.arguments.append(row)
            else:
                classes.inputs.append(row)
        return classes

    def worst(self, rows: list[int]) -> int:
        """The row with the highest score."""
        return max(rows, key=lambda row: float(self.comparison.score[row]))

    def changed_integers(self, node: TreeNode) -> list[int]:
        """The rows of integer inputs that differ at all: integers know no rounding."""
        if node.exec_order not in self._changing_integers:
            return []
        return [row for row in self.inexact_inputs(node) if self.is_integer(row)]

    def made_integers(self, node: TreeNode) -> list[int]:
        """The rows of integer outputs that differ at all."""
        if node.exec_order not in self._making_integers:
            return []
        is_output, error = self.comparison.is_output, self.comparison.error
        rows = (row for row in self.rows(node) if is_output[row] and self.is_integer(row))
        return [row for row in rows if error[row] > 0]

    def inexact_inputs(self, node: TreeNode) -> list[int]:
        """The rows of inputs that differ at all, within the tolerance or not."""
        is_output, error = self.comparison.is_output, self.comparison.error
        return [row for row in self.rows(node) if not is_output[row] and error[row] > 0]

    def worst_score(self, rows: list[int]) -> tuple[str, float]:
        """The key and the score of the worst of some rows."""
        row = self.worst(rows)
        return self.comparison.keys[row], float(self.comparison.score[row])

    def argument_reason(self, row: int) -> ArgumentDiffers:
        """A reason that shows both sides of a differing argument."""
        sides = _argument(self.ours[row]), _argument(self.theirs[row])
        return ArgumentDiffers(self.comparison.keys[row], *sides)


def _numbers(scores: Floats) -> list[float | None]:
    return [None if isnan(score) else score for score in scores.tolist()]


def _argument(record: Record) -> str:
    if not record.type:
        return "not given"
    if record.dtype is not None:
        return f"a {canonical_dtype(record.dtype)} tensor"
    if record.type == "float" and isinstance(record.value, str):
        return record.value  # NaN and infinity come as text
    return repr(record.value)
