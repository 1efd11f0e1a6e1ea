"""The facts about one compared pair, in the words that the rules of the diagnosis ask in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from math import inf, isnan

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.statistics import Bools
from builder.diagnosis.divergence import Divergence
from builder.diagnosis.excess import PLAIN, Expected
from builder.match.tree import TreeNode
from builder.operators.table import has
from builder.reasons import PrecisionDiffers
from msprobe_core.format import LARGEST, canonical_dtype, is_integer_dtype, machine_epsilon

CLEAR = 4.0
# The share of the tolerance that the first difference of two otherwise equal runs has to reach.
_CLEAR_FIRST = 0.5


class Facts(Divergence):
    """What lies behind a divergence: rounding, selection, precision, NaN and Inf."""

    def __init__(self, comparison: Comparison, threshold: float) -> None:
        super().__init__(comparison, threshold)
        nodes = comparison.pairs.node
        ratio = comparison.judged / comparison.limit
        self._strain = np.where(np.isnan(ratio), 0.0, ratio)
        inexact = nodes[comparison.error > 0]
        self._first_inexact = int(inexact[0]) if inexact.size else -1
        ours, theirs = (statistics.nonfinite for statistics in comparison.statistics)
        self._nonfinite_rows: tuple[list[bool], list[bool]] = (ours.tolist(), theirs.tolist())
        self._making_nonfinite = set(nodes[ours & ~theirs].tolist())
        self._hidden: list[bool] = (_are_masked(comparison) | (ours & theirs)).tolist()
        self._rare_precision = self._precision_is_rare()

    def strain(self, node: TreeNode) -> float:
        """How near a node's values are to their tolerance: the largest error over tolerance."""
        rows = self.rows(node)
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

    def begins_inexactness(self, node: TreeNode) -> bool:
        """Whether all before this node agrees to the last digit and its output plainly does not."""
        inputs = self._read(node)
        return (
            node.exec_order == self._first_inexact
            and not (self.comparison.error[inputs] > 0).any()
            and self.strain(node) > _CLEAR_FIRST
        )

    def inexact_output(self, node: TreeNode) -> str:
        """The key of the output that differs most."""
        rows = [row for row in self.rows(node) if self.comparison.is_output[row]]
        return self.comparison.keys[max(rows, key=lambda row: float(self._strain[row]))]

    def makes_nonfinite(self, node: TreeNode) -> bool:
        """Whether a matched node turns finite inputs into NaN or Inf that the benchmark lacks."""
        if node.exec_order not in self._making_nonfinite:
            return False
        ours, theirs = self._nonfinite_rows
        is_output, rows = self.comparison.is_output, self.rows(node)
        made = any(is_output[row] and ours[row] and not theirs[row] for row in rows)
        return made and not any(ours[row] and not is_output[row] for row in rows)

    def hidden_inputs(self, node: TreeNode) -> list[int]:
        """The inputs, by value, whose statistics tell nothing: infinite or masked on both sides.

        Sketches leave masks out, so what has one is not hidden.
        """
        if self.comparison.mode != "statistics":
            return []
        inputs = self._read(node)
        hidden = [row for row in inputs if self._hidden[row] and not self.sees_elements(row)]
        return self.problem_values(hidden)

    def sees_elements(self, row: int) -> bool:
        """Whether elements were compared, as tensors or by sketches, and not statistics alone."""
        estimates = self.comparison.estimates
        by_sketch = estimates is not None and not isnan(estimates.error[row])
        return by_sketch or row in self.comparison.tensors

    @cached_property
    def known(self) -> Expected:
        """What is known of distances, and what is expected of them."""
        return Expected(self.comparison)

    def hands_on_distance(self, node: TreeNode) -> bool:
        """Whether what a call read, and rounding, explain how far apart its outputs are.

        Relative errors tell nothing where elements are dropped, or where the terms of a sum or a
        product cancel.
        """
        outputs = self.divergent(node).outputs
        bounded = (self._is_bounded(node, row) for row in outputs)
        return node.kind == "api" and bool(outputs) and all(bounded)

    def _is_bounded(self, node: TreeNode, row: int) -> bool:
        """Whether gains explain how far apart an output is; what was not seen only just so.

        Of what statistics alone tell the least distance is known: no choice and no gradient is
        judged by it.
        """
        known = self.known
        expected, distance = known.expected(node, row), known.distance[row]
        if known.seen[row]:
            return expected.told and distance <= PLAIN * expected.distance
        return node.direction == "forward" and expected.told and distance <= expected.distance < inf

    def _read(self, node: TreeNode) -> list[int]:
        """The rows of what a node read."""
        return [row for row in self.rows(node) if not self.comparison.is_output[row]]

    def is_selection(self, node: TreeNode) -> bool:
        """Whether a call picks elements, so that equal statistics or rounding decide nothing.

        It turns masks into indices, ranks numbers that differ by rounding, or sends a gradient back
        to elements that were picked so.
        """
        rows = [row for row in self.rows(node) if self.ours[row].dtype is not None]
        inputs = [row for row in rows if not self.comparison.is_output[row]]
        if node.direction == "backward":
            return self._picks_back(node)
        if not inputs or not all(self.is_integer(row) for row in self.divergent(node).outputs):
            return False
        masks = all(canonical_dtype(self.ours[row].dtype or "") == "bool" for row in inputs)
        if masks:
            return all(self.is_integer(row) for row in rows)
        return self._is_rounded(inputs)

    def picked_otherwise(self, node: TreeNode) -> bool:
        """Whether a call ranked numbers that agree to rounding, or fully, and picked others."""
        if node.direction != "forward" or not self.made_integers(node):
            return False
        read = [r for r in self._read(node) if self.ours[r].dtype is not None]
        floating = [row for row in read if not self.is_integer(row)]
        errors = self.comparison.judged[floating]
        agree = bool((errors <= self.comparison.limit[floating]).all())
        ranks = has(node.call, "chooses", "picks") or self.is_selection(node)
        return ranks and bool(floating) and agree

    def is_tie(self, node: TreeNode) -> bool:
        """Whether what was picked otherwise is a tie: it is as large in one run as in the other.

        Which number was picked is evidence of that, and which place alone is none: a wrong place of
        a wrong kernel looks the same.
        """
        is_output, score = self.comparison.is_output, self.comparison.score
        rows = [r for r in self.rows(node) if is_output[r] and not self.is_integer(r)]
        picked = [r for r in rows if self.ours[r].dtype is not None and not isnan(score[r])]
        return bool(picked) and all(score[row] == 0 for row in picked)

    def _picks_back(self, node: TreeNode) -> bool:
        """Whether a gradient of the same size goes to other elements, after rounding decided."""
        forward = node.forward
        if forward is None:
            return False
        decided = self.rows(forward)
        differ = bool((self.comparison.error[decided] > 0).any())
        agree = bool((self.comparison.score[decided] <= self.threshold).all())
        if differ and agree and has(node.call, "gates") and self._are_gated(node, forward):
            return True
        if not self._is_rounded(decided):
            return False
        outputs = self.divergent(node).outputs
        same_size = all(self.comparison.norm_error[r] <= self.comparison.limit[r] for r in outputs)
        return has(node.call, "picks") and same_size

    def _are_gated(self, node: TreeNode, forward: TreeNode) -> bool:
        """Whether rounding explains that a gradient passes through other elements."""
        known = self.known
        allowed = known.gated(forward, known.inputs(forward), known.inputs(node))
        return all(known.distance[row] <= allowed for row in self.divergent(node).outputs)

    def _is_rounded(self, rows: Iterable[int]) -> bool:
        """Whether some floating value differs, and none by more than the tolerance."""
        floating = [row for row in rows if not self.is_integer(row)]
        errors = self.comparison.judged[floating]
        return bool((errors > 0).any() and (errors <= self.comparison.limit[floating]).all())

    def changes_precision(self, node: TreeNode) -> bool:
        """Whether a call computes in another dtype than its partner.

        Never where most nodes differ so: that is the setting of the comparison, not a fault.
        """
        if not self._rare_precision or node.kind != "api":
            return False
        return any(self._dtype_differs(row) for row in self.rows(node))

    def differing_dtypes(self, node: TreeNode, outputs: bool) -> list[int]:
        """The rows of a node's outputs or inputs whose dtypes differ."""
        is_output = self.comparison.is_output
        return [r for r in self.rows(node) if is_output[r] == outputs and self._dtype_differs(r)]

    def reads_precision(self, node: TreeNode, maker_of: Callable[[int], TreeNode | None]) -> bool:
        """Whether another dtype comes from a call that shows it already.

        `maker_of` tells the problem's call that put out the problem's value of a row.
        """
        makers = map(maker_of, self.differing_dtypes(node, outputs=False))
        return any(m is not None and self.differing_dtypes(m, outputs=True) for m in makers)

    def precision_reason(self, node: TreeNode) -> PrecisionDiffers:
        """A reason that shows both dtypes of a node that `changes_precision`."""
        row = next(row for row in self.rows(node) if self._dtype_differs(row))
        ours, theirs = (canonical_dtype(s[row].dtype or "") for s in (self.ours, self.theirs))
        return PrecisionDiffers(ours, theirs)

    def _precision_is_rare(self) -> bool:
        if self.comparison.precision[0] != self.comparison.precision[1]:
            return False
        nodes = self.comparison.pairs.node
        rows = [row for row, what in self.comparison.differs.items() if "dtype" in what]
        return 0 < len(np.unique(nodes[rows])) <= len(np.unique(nodes)) / 2

    def _dtype_differs(self, row: int) -> bool:
        """Whether two floating formats meet; masks as numbers or as booleans are no precision."""
        dtypes = (self.ours[row].dtype or "", self.theirs[row].dtype or "")
        floating = all(machine_epsilon(dtype) is not None for dtype in dtypes)
        return floating and "dtype" in self.comparison.differs.get(row, ())

    def is_written_otherwise(self, node: TreeNode, inputs: list[int]) -> bool:
        """Whether a call computes the same from inputs in another shape or of another kind.

        Padding before a convolution or by it, a mask of booleans or of minus infinities: where the
        outputs agree, the two forms mean the same.
        """
        outputs = [row for row in self.rows(node) if self.comparison.is_output[row]]
        agree = bool(outputs) and not self.divergent(node).outputs
        compared = any(self.comparison.score[row] >= 0 for row in outputs)
        return agree and compared and all(map(self.is_of_another_form, inputs))

    def is_of_another_form(self, row: int) -> bool:
        """Whether the sides of a value have another shape, or one of them is of integers."""
        kinds = (is_integer_dtype(side[row].dtype or "") for side in (self.ours, self.theirs))
        return self.is_reshaped(row) or len(set(kinds)) > 1


def _are_masked(comparison: Comparison) -> Bools:
    """Which rows hold on both sides numbers as large as masks, beside which nothing else counts."""
    with np.errstate(invalid="ignore"):
        ours, theirs = (
            np.fmax(*np.abs(statistics.table[:2])) >= LARGEST
            for statistics in comparison.statistics
        )
    return np.asarray(ours & theirs)
