"""What calls computed from, as the gains ask for it: operands in order, with their distances."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt

from builder.diagnosis.distances import Distances
from builder.dump.values import Record
from builder.match.tree import TreeNode
from builder.operators.gains import Operand, Result
from builder.operators.table import has

# A distance that a sketch estimates lies hardly ever further from the true one than this factor.
ESTIMATED = 2.0
_FACTORS = ("alpha", "beta", "value")


@dataclass(frozen=True, slots=True)
class Told:
    """The operands of a call in order with their rows, None for numbers, and factors by name."""

    operands: list[Operand]
    rows: list[int | None]
    factors: dict[str, float]


class CallOperands(Distances):
    """What calls computed from, as the gains ask for it."""

    def reach(self, row: int) -> float:
        """How far apart the operand of a row may be: an estimate errs, a measurement does not."""
        factor = 1.0 if self.measured[row] else ESTIMATED
        return factor * self.distance[row] + self.uncertain(row)

    def told(self, node: TreeNode) -> Told | None:
        """The operands of a call; None where one cannot be told: on one side alone, or hidden."""
        told = Told([], [], {})
        for row in self.rows(node):
            key = self.comparison.keys[row].removeprefix("input.")
            is_tensor = self.ours[row].dtype is not None
            if self.comparison.is_output[row] or self.is_integer(row):
                continue
            if is_tensor:
                one = self.operand(row)
            elif key in (*_FACTORS, "other") or key.isdigit():
                one = _number(self.theirs[row])
                if one is None and not isinstance(self.theirs[row].value, int | float):
                    continue
            else:
                continue  # how a call computes, not with what
            if one is None or is_tensor != (self.theirs[row].dtype is not None):
                return None
            if key in _FACTORS:
                told.factors[key] = one.largest
            else:
                told.operands.append(one)
                told.rows.append(row if is_tensor else None)
        return told

    def operand(self, row: int) -> Operand | None:
        """The tensor of a row; None where its size is not known."""
        shape = self.theirs[row].shape
        if shape is None or self.hidden[row]:
            return None
        return Operand(
            self.distance[row],
            self.norm[row],
            self.mean[row],
            self.largest[row],
            shape,
            self.smallest[row],
        )

    def result(self, row: int) -> Result:
        """What was put out in a row."""
        return Result(int(self.size[row]), self.norm[row], self.peak[row], self.mean[row])

    def has_chosen(self, node: TreeNode, read: list[int]) -> bool:
        """Whether integers that went in differ, or rounding may have picked other elements."""
        if any(self.is_integer(r) and self.distance[r] > 0 for r in read):
            return True
        if node.direction == "forward":
            return has(node.call, "chooses")
        ranks = has(node.call, "picks") and not has(node.call, "extremes")
        return ranks and any(self.distance[r] > 0 for r in read)

    def together(self, rows: list[int]) -> float:
        """The share by which a value is apart that is computed from some rows to first order."""
        return sqrt(sum(self.share[r] ** 2 for r in rows if self.norm[r]))

    def in_step(self, rows: list[int | None], output: int) -> float:
        """The distance of a sum whose errors are in step with its terms, and do not cancel.

        The bounds of sums over many terms are those of random signs.
        """
        read = [r for r in rows if r is not None]
        return sum(self.reach(r) / self.norm[r] for r in read if self.norm[r]) * self.norm[output]


def _number(record: Record) -> Operand | None:
    value = record.value
    if not isinstance(value, int | float) or not isfinite(value):
        return None
    magnitude = abs(float(value))
    return Operand(0.0, magnitude, magnitude, magnitude, (), magnitude)
