"""What a comparison says about one node, in the words that the walk asks in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan
from typing import Literal

import numpy as np

from builder.compare import Comparison
from builder.dump.forms import Form
from builder.dump.values import Record
from builder.match.values import SURPLUS
from builder.measure.statistics import Bools, Floats
from builder.reasons import Reason
from builder.tree import TreeNode
from msprobe_core.format import canonical_dtype


@dataclass(slots=True)
class DivergentRows:
    """The divergent value pairs of one node, by what they mean; rows of the comparison."""

    inputs: list[int] = field(default_factory=list)
    arguments: list[int] = field(default_factory=list)
    parameters: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)


_NONE = DivergentRows()
# Calls whose gradient goes to the elements that were largest or smallest.
_PICKING = frozenset(
    "max min amax amin topk sort median kthvalue cummax cummin max_pool1d max_pool2d max_pool3d "
    "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d".split()
)
CLEAR = 4.0
# The share of the tolerance that the first difference of two otherwise equal runs has to reach.
_PLAIN = 0.5


class Evidence:
    """A comparison with a threshold above which a value diverges."""

    def __init__(self, comparison: Comparison, threshold: float) -> None:
        self.comparison = comparison
        self.threshold = threshold
        self.ours, self.theirs = comparison.records
        nodes = comparison.pairs.node
        self._ours, self._theirs = (
            indices.tolist() for indices in (comparison.pairs.problem, comparison.pairs.benchmark)
        )
        bounds = np.searchsorted(nodes, np.arange(len(comparison.matching.problem.in_order) + 1))
        self._bounds = bounds.tolist()
        with np.errstate(invalid="ignore"):
            self._divergent: list[bool] = (comparison.score > threshold).tolist()
        self._any = set(nodes[np.array(self._divergent, dtype=bool)].tolist())
        ratio = comparison.error / comparison.limit
        self._strain = np.where(np.isnan(ratio), 0.0, ratio)
        self._forgiven = (comparison.error == comparison.limit).tolist()
        self._forms = comparison.forms.listed()
        integer = self._rows_whose(lambda form: _is_integer(form.dtype))
        self._integer: list[bool] = integer.tolist()
        self._surplus_arguments = {
            row
            for row in self._surplus_rows()
            if self.ours[row].dtype is None and self.theirs[row].dtype is None
        }
        self._any |= set(nodes[sorted(self._surplus_arguments)].tolist())
        self._found: dict[int, DivergentRows] = {}
        self._scores = _numbers(comparison.node_score)
        self._input_scores = _numbers(comparison.node_input_score)
        ours, theirs = comparison.statistics
        made_nonfinite = ours.nonfinite & ~theirs.nonfinite
        self._making_nonfinite = set(nodes[made_nonfinite].tolist())
        self._made_nonfinite = made_nonfinite.tolist()
        self._forgiving = set(nodes[np.array(self._forgiven, dtype=bool)].tolist())
        self._rare_precision = self._precision_is_rare()
        inexact = nodes[comparison.error > 0]
        self._first_inexact = int(inexact[0]) if inexact.size else -1
        changed = set(nodes[list(comparison.differs)].tolist())
        integers = set(nodes[(comparison.error > 0) & ~comparison.is_output & integer].tolist())
        self._changing_integers = integers
        self._noteworthy = self._any | self._forgiving | changed | integers

    def _surplus_rows(self) -> list[int]:
        pairs = self.comparison.pairs
        absent = (pairs.problem == SURPLUS) | (pairs.benchmark == SURPLUS)
        return list(np.flatnonzero(absent).tolist())

    def _rows_whose(self, holds: Callable[[Form], bool], side: Literal[0, 1] = 0) -> Bools:
        """Of which rows the form on one side is of some kind; not where the value is surplus."""
        kinds = np.array([holds(form) for form in self._forms], dtype=bool)
        pairs = self.comparison.pairs
        # SURPLUS is -1: a stand-in at the end serves the rows without a value.
        of_value = np.append(kinds[self.comparison.columns[side].forms], False)
        return np.asarray(of_value[(pairs.problem, pairs.benchmark)[side]])

    @cached_property
    def _plain_inputs(self) -> dict[int, int]:
        comparison, divergent = self.comparison, np.array(self._divergent, dtype=bool)
        if self._rare_precision:
            return {}
        tensors = self._rows_whose(_is_tensor, 0) & self._rows_whose(_is_tensor, 1)
        parameters = self._rows_whose(lambda form: form.key.startswith("parameters."))
        inputs = np.flatnonzero(divergent & tensors & ~parameters & ~comparison.is_output)
        nodes, first = np.unique(comparison.pairs.node[inputs], return_index=True)
        found = dict(zip(nodes.tolist(), inputs[first].tolist()))
        others = set(comparison.pairs.node[divergent & parameters].tolist())
        for node in found.keys() & (others | self._making_nonfinite):
            del found[node]
        return found

    def plain_input(self, node: TreeNode) -> int | None:
        """The first divergent input of a node whose parameters and precision raise no question."""
        return self._plain_inputs.get(node.exec_order)

    @cached_property
    def _nonfinite(self) -> list[bool]:
        statistics = self.comparison.columns[0].statistics
        extremes = statistics.recorded[:2] & ~np.isfinite(statistics.table[:2])
        return list(np.asarray(extremes.any(axis=0)).tolist())

    def is_nonfinite(self, index: int) -> bool:
        """Whether an extreme of one of the problem side's values is NaN or Inf."""
        return self._nonfinite[index]

    def is_noteworthy(self, node: TreeNode) -> bool:
        """Whether anything about a matched node is not as in its partner."""
        return node.exec_order in self._noteworthy

    def rows(self, node: TreeNode) -> range:
        """The rows of a node's values."""
        return range(self._bounds[node.exec_order], self._bounds[node.exec_order + 1])

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

    def divergent(self, node: TreeNode) -> DivergentRows:
        """The rows of a node whose score exceeds the threshold."""
        if node.exec_order not in self._any:
            return _NONE
        found = self._found.get(node.exec_order)
        if found is None:
            found = self._found[node.exec_order] = self._classified(node)
        return found

    def _classified(self, node: TreeNode) -> DivergentRows:
        found = DivergentRows()
        for row in self.rows(node):
            if row in self._surplus_arguments and not self.comparison.is_output[row]:
                found.arguments.append(row)
            if not self._divergent[row]:
                continue
            if self.comparison.is_output[row]:
                found.outputs.append(row)
            elif self.comparison.keys[row].startswith("parameters."):
                found.parameters.append(row)
            elif self.ours[row].dtype is None or self.theirs[row].dtype is None:
                found.arguments.append(row)
            else:
                found.inputs.append(row)
        return found

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
        return any(self._strain[row] > CLEAR for row in rows)

    def worst(self, rows: list[int]) -> int:
        """The row with the highest score."""
        return max(rows, key=lambda row: float(self.comparison.score[row]))

    def begins_inexactness(self, node: TreeNode) -> bool:
        """Whether all before this node agrees to the last digit and its output plainly does not."""
        rows = self.rows(node)
        inputs = [row for row in rows if not self.comparison.is_output[row]]
        return (
            node.exec_order == self._first_inexact
            and not (self.comparison.error[inputs] > 0).any()
            and self.strain(node) > _PLAIN
        )

    def inexact_inputs(self, node: TreeNode) -> list[int]:
        """The rows of inputs that differ at all, within the tolerance or not."""
        is_output, error = self.comparison.is_output, self.comparison.error
        return [row for row in self.rows(node) if not is_output[row] and error[row] > 0]

    def inexact_output(self, node: TreeNode) -> str:
        """The key of the output that differs most."""
        rows = [row for row in self.rows(node) if self.comparison.is_output[row]]
        return self.comparison.keys[max(rows, key=lambda row: float(self._strain[row]))]

    def changed_integers(self, node: TreeNode) -> list[int]:
        """The rows of integer inputs that differ at all: integers know no rounding."""
        if node.exec_order not in self._changing_integers:
            return []
        return [row for row in self.inexact_inputs(node) if self.is_integer(row)]

    def problem_values(self, rows: list[int]) -> list[int]:
        """The problem side's value indices of rows."""
        return [self._ours[row] for row in rows]

    def value_pair(self, row: int) -> tuple[int, int]:
        """The value indices of a row, problem first."""
        return self._ours[row], self._theirs[row]

    def score_reason(self, code: str, rows: list[int]) -> Reason:
        """A reason that names the worst of some rows."""
        row = self.worst(rows)
        score = float(self.comparison.score[row])
        return {"code": code, "value": self.comparison.keys[row], "score": score}

    def argument_reason(self, row: int) -> Reason:
        """A reason that shows both sides of a differing argument."""
        return {
            "code": "argument_differs",
            "value": self.comparison.keys[row],
            "problem": _argument(self.ours[row]),
            "benchmark": _argument(self.theirs[row]),
        }

    def makes_nonfinite(self, node: TreeNode) -> bool:
        """Whether a matched node turns finite inputs into NaN or Inf that the benchmark lacks."""
        if node.exec_order not in self._making_nonfinite:
            return False
        rows = self.rows(node)
        outputs = [row for row in rows if self.comparison.is_output[row]]
        if not any(self._made_nonfinite[row] for row in outputs):
            return False
        nonfinite = self.comparison.statistics[0].nonfinite
        return not any(nonfinite[row] for row in rows if not self.comparison.is_output[row])

    def is_reshaped(self, row: int) -> bool:
        """Whether the two sides have another shape, as after selecting other elements."""
        return self.ours[row].shape != self.theirs[row].shape

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

    def _picks_back(self, node: TreeNode) -> bool:
        """Whether a gradient of the same size goes to other elements, after rounding decided."""
        entry, outputs = node.entry, self.divergent(node).outputs
        if entry is None or entry.type_name.rstrip("_") not in _PICKING:
            return False
        forward = node.forward
        same_size = all(self.comparison.norm_error[r] <= self.comparison.limit[r] for r in outputs)
        return same_size and forward is not None and self._is_rounded(self.rows(forward))

    def _is_rounded(self, rows: Iterable[int]) -> bool:
        """Whether some floating value differs, and none by more than the tolerance."""
        floating = [row for row in rows if not self.is_integer(row)]
        errors = self.comparison.error[floating]
        return bool((errors > 0).any() and (errors <= self.comparison.limit[floating]).all())

    def is_integer(self, row: int) -> bool:
        """Whether a row compares integers: token ids, labels, masks."""
        return self._integer[row]

    def share_a_value(self, left: list[int], right: list[int]) -> bool:
        """Whether the same tensor of the problem side stands in both lists of rows."""
        prints = {_statistics(self.ours[row]) for row in left}
        return any(_statistics(self.ours[row]) in prints for row in right)

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

    def hidden_inputs(self, node: TreeNode) -> list[int]:
        """The rows of inputs whose statistics are not finite on both sides and so tell nothing."""
        if self.comparison.mode != "statistics":
            return []
        ours, theirs = self.comparison.statistics
        is_output = self.comparison.is_output
        return [
            row
            for row in self.rows(node)
            if not is_output[row] and ours.nonfinite[row] and theirs.nonfinite[row]
        ]

    def precision_reason(self, node: TreeNode) -> Reason:
        """A reason that shows both dtypes of a node that `changes_precision`."""
        row = next(row for row in self.rows(node) if self._dtype_differs(row))
        return {
            "code": "precision_differs",
            "problem": canonical_dtype(self.ours[row].dtype or ""),
            "benchmark": canonical_dtype(self.theirs[row].dtype or ""),
        }

    def _precision_is_rare(self) -> bool:
        nodes = self.comparison.pairs.node
        rows = [row for row, what in self.comparison.differs.items() if "dtype" in what]
        return 0 < len(np.unique(nodes[rows])) <= len(np.unique(nodes)) / 2

    def _dtype_differs(self, row: int) -> bool:
        return "dtype" in self.comparison.differs.get(row, ())


def nonfinite_state(record: Record) -> str:
    """NaN or Inf where a tensor's extremes are not finite, else the empty text."""
    for cell in (record.Max, record.Min):
        try:
            number = float(cell) if cell is not None else 0.0
        except ValueError:
            return "NaN"
        if not np.isfinite(number):
            return "NaN" if np.isnan(number) else "Inf"
    return ""


def _numbers(scores: Floats) -> list[float | None]:
    return [None if isnan(score) else score for score in scores.tolist()]


def _is_tensor(form: Form) -> bool:
    return form.dtype is not None


def _is_integer(dtype: str | None) -> bool:
    name = canonical_dtype(dtype or "")
    return "int" in name or name == "bool"


def _argument(record: Record) -> str:
    if not record.type:
        return "not given"
    if record.dtype is not None:
        return f"a {canonical_dtype(record.dtype)} tensor"
    return repr(record.value)


def _statistics(record: Record) -> tuple[object, ...]:
    return (record.shape, record.Max, record.Min, record.Mean, record.Norm, record.md5)
