"""The facts about one compared pair, in the words that the diagnosis asks in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import isnan

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.statistics import Floats
from builder.diagnosis.expectation import Expectations
from builder.dump.values import Record
from builder.evidence.distances import Evidence, evidence_of
from builder.evidence.paired_rows import PairedRows
from builder.match.tree import TreeNode
from builder.reasons import (
    ArgumentDiffers,
    BatchDiffers,
    BatchRows,
    BatchShaped,
    ParameterDiffers,
    PrecisionDiffers,
    Reason,
    UnrecordedDiffers,
    same_of,
)
from msprobe_core.format import canonical_dtype, is_integer_dtype, machine_epsilon


@dataclass(slots=True)
class DivergentRows:
    """The divergent value pairs of one node, by what they mean; rows of the comparison."""

    inputs: list[int] = field(default_factory=list)
    arguments: list[int] = field(default_factory=list)
    parameters: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)


_NONE = DivergentRows()


class Facts:
    """Which nodes of a comparison diverge, above a threshold, in what, and in which formats.

    `paired` are its rows; `known` and `expected` are made where distances are asked for.
    """

    def __init__(self, comparison: Comparison, threshold: float) -> None:
        self.comparison, self.threshold = comparison, threshold
        self.paired = PairedRows(comparison)
        nodes = comparison.pairs.node
        with np.errstate(invalid="ignore"):
            self.is_divergent = comparison.scores.score > threshold
        self._divergent: list[bool] = self.is_divergent.tolist()
        surplus = nodes[sorted(self.paired.surplus_arguments)].tolist()
        self.diverging = {*nodes[self.is_divergent].tolist(), *surplus}
        self._classes: dict[int, DivergentRows] = {}
        self._scores = _numbers(comparison.nodes.outputs)
        self._input_scores = _numbers(comparison.nodes.inputs)
        ours, theirs = (statistics.nonfinite for statistics in comparison.statistics)
        self._nonfinite: tuple[list[bool], list[bool]] = (ours.tolist(), theirs.tolist())
        self._making_nonfinite = set(nodes[ours & ~theirs].tolist())
        self._formats_may_tell = self._do_formats_tell()

    @cached_property
    def known(self) -> Evidence:
        """What is known of distances."""
        return evidence_of(self.paired)

    @cached_property
    def expected(self) -> Expectations:
        """What is expected of distances."""
        return Expectations(self.known)

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

    def divergent(self, node: TreeNode) -> DivergentRows:
        """The rows of a node whose score exceeds the threshold."""
        if node.exec_order not in self.diverging:
            return _NONE
        rows = self._classes.get(node.exec_order)
        if rows is None:
            rows = self._classes[node.exec_order] = self._classified(node)
        return rows

    def _classified(self, node: TreeNode) -> DivergentRows:
        classes = DivergentRows()
        for row in self.paired.rows(node):
            if row in self.paired.surplus_arguments and not self.comparison.is_output[row]:
                classes.arguments.append(row)
            if not self._divergent[row]:
                continue
            if self.comparison.is_output[row]:
                classes.outputs.append(row)
            elif self.comparison.keys[row].startswith("parameters."):
                classes.parameters.append(row)
            elif self.paired.ours[row].dtype is None or self.paired.theirs[row].dtype is None:
                classes.arguments.append(row)
            else:
                classes.inputs.append(row)
        return classes

    def owner_of(self, node: TreeNode, row: int) -> TreeNode | None:
        """The innermost module around a call whose own parameter a value is that the call reads."""
        owner = node.parent
        while owner is not None and owner.kind != "root":
            own = self.known.parameters(owner)
            if own and self.paired.share_a_value(own, [row]):
                return owner
            owner = owner.parent
        return None

    def worst(self, rows: list[int]) -> int:
        """The row with the highest score."""
        return max(rows, key=lambda row: float(self.comparison.scores.score[row]))

    def worst_score(self, rows: list[int]) -> tuple[str, float]:
        """The key and the score of the worst of some rows."""
        row = self.worst(rows)
        return self.comparison.keys[row], float(self.comparison.scores.score[row])

    def parameter_reasons(self, rows: list[int]) -> tuple[ParameterDiffers, tuple[Reason, ...]]:
        """That the worst of some parameters differs, and which others do."""
        value, score = self.worst_score(rows)
        others = (self.comparison.keys[row] for row in rows)
        more = same_of(sorted({key for key in others if key != value}))
        return ParameterDiffers(value, score), tuple(more)

    def argument_reason(self, row: int) -> ArgumentDiffers:
        """A reason that shows both sides of a differing argument."""
        sides = _argument(self.paired.ours[row]), _argument(self.paired.theirs[row])
        return ArgumentDiffers(self.comparison.keys[row], *sides)

    def batch_reason(
        self, node: TreeNode, rows: list[int]
    ) -> BatchDiffers | BatchRows | BatchShaped | UnrecordedDiffers:
        """A reason that says how what is read first differs, in size before values.

        A model is given data; what a script calls beside its model may read a table of its own.
        """
        row = self.worst(rows)
        key, ours, theirs = (
            self.comparison.keys[row],
            self.paired.ours[row].shape,
            self.paired.theirs[row].shape,
        )
        if not ours or not theirs or ours == theirs:
            may_be_own = _runs_beside_modules(node) and not self.paired.is_integer(row)
            told = UnrecordedDiffers if may_be_own else BatchDiffers
            return told(*self.worst_score(rows))
        if ours[0] != theirs[0] and ours[1:] == theirs[1:]:
            return BatchRows(key, ours[0], theirs[0])
        return BatchShaped(key, str(list(ours)), str(list(theirs)))

    def makes_nonfinite(self, node: TreeNode) -> bool:
        """Whether a matched node turns finite inputs into NaN or Inf that the benchmark lacks."""
        if node.exec_order not in self._making_nonfinite:
            return False
        ours, theirs = self._nonfinite
        is_output, rows = self.comparison.is_output, self.paired.rows(node)
        made = any(is_output[row] and ours[row] and not theirs[row] for row in rows)
        return made and not any(ours[row] and not is_output[row] for row in rows)

    def sees_elements(self, row: int) -> bool:
        """Whether elements were compared, as tensors or by sketches, and not statistics alone."""
        estimates = self.comparison.elements.estimates
        by_sketch = estimates is not None and not isnan(estimates.error[row])
        return by_sketch or row in self.comparison.elements.tensors

    def changes_precision(self, node: TreeNode) -> bool:
        """Whether a call computes in another dtype than its partner, or a module by itself.

        Never where the runs work in two formats: that is the setting of the comparison, no fault.
        What a backward call computes in is settled by its forward call. A module does so by itself
        where it is fed in the same format and nothing inside it differs in one.
        """
        if not self._formats_may_tell:
            return False
        if node.forward is not None and self.changes_precision(node.forward):
            return False
        if node.kind == "api":
            return any(self._dtype_differs(row) for row in self.paired.rows(node))
        if node.kind != "module" or node.direction == "backward":
            return False
        rows = self.differing_dtypes(node, outputs=True)
        others = (self.paired.rows(child) for child in node.children)
        fed = self.differing_dtypes(node, outputs=False)
        return bool(rows) and not fed and not any(map(self._dtype_differs, chain(*others)))

    def differing_dtypes(self, node: TreeNode, outputs: bool) -> list[int]:
        """The rows of a node's outputs or inputs whose dtypes differ."""
        is_output = self.comparison.is_output
        return [
            r for r in self.paired.rows(node) if is_output[r] == outputs and self._dtype_differs(r)
        ]

    def reads_precision(self, node: TreeNode, maker_of: Callable[[int], TreeNode | None]) -> bool:
        """Whether another dtype comes from a call that shows it already.

        `maker_of` tells the problem's call that put out the problem's value of a row.
        """
        makers = map(maker_of, self.differing_dtypes(node, outputs=False))
        return any(m is not None and self.differing_dtypes(m, outputs=True) for m in makers)

    def precision_reason(self, node: TreeNode) -> PrecisionDiffers:
        """A reason that shows both dtypes of a node that `changes_precision`."""
        row = next(row for row in self.paired.rows(node) if self._dtype_differs(row))
        sides = (self.paired.ours, self.paired.theirs)
        return PrecisionDiffers(*(canonical_dtype(side[row].dtype or "") for side in sides))

    def _do_formats_tell(self) -> bool:
        """Whether both runs work in one format, and anything is of another."""
        if self.comparison.setting.precision[0] != self.comparison.setting.precision[1]:
            return False
        return any("dtype" in what for what in self.comparison.differs.values())

    def _dtype_differs(self, row: int) -> bool:
        """Whether two floating formats meet; masks as numbers or as booleans are no precision."""
        dtypes = (self.paired.ours[row].dtype or "", self.paired.theirs[row].dtype or "")
        floating = all(machine_epsilon(dtype) is not None for dtype in dtypes)
        return floating and "dtype" in self.comparison.differs.get(row, ())

    def is_of_another_form(self, row: int) -> bool:
        """Whether the sides of a value have another shape, or one of them is of integers."""
        kinds = (
            is_integer_dtype(side[row].dtype or "")
            for side in (self.paired.ours, self.paired.theirs)
        )
        return self.paired.is_reshaped(row) or len(set(kinds)) > 1


def _runs_beside_modules(node: TreeNode) -> bool:
    """Whether a script calls it itself, outside of all modules, and calls modules as well."""
    top = node.parent
    if node.kind != "api" or top is None or top.kind != "root":
        return False
    return any(each.kind == "module" for each in top.children)


def _numbers(scores: Floats) -> list[float | None]:
    return [None if isnan(score) else score for score in scores.tolist()]


def _argument(record: Record) -> str:
    if not record.type:
        return "not given"
    if record.dtype is not None:
        return f"a {canonical_dtype(record.dtype)} tensor"
    if record.type == "float" and isinstance(record.value, str):
        return record.value  # NaN and infinity come as text
    return slice_text(record.value) if record.type == "slice" else repr(record.value)


def slice_text(bounds: object) -> str:
    """The bounds of a slice as one writes them between brackets.

    >>> slice_text([1, None, None]), slice_text([None, -1, 2])
    ('1:', ':-1:2')
    """
    if not isinstance(bounds, list):
        return str(bounds)
    shown = ["" if bound is None else str(bound) for bound in bounds]
    return ":".join(shown if shown[2:] != [""] else shown[:2])
