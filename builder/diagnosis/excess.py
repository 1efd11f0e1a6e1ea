"""How far apart a call may put out what it read apart: E = Σ Gᵢ·Δxᵢ + ρ. docs/diagnosis.md."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Literal

from builder.diagnosis.call_operands import ESTIMATED
from builder.diagnosis.distances import CARRIED, SUMMED
from builder.diagnosis.gradients import Gradients
from builder.flow.feeding import NOWHERE
from builder.match.tree import TreeNode
from builder.operators.table import gains_of, has

# A call that computes as in the other run is named from this excess on. Both distances may be
# estimates of eight projections: one is PLAIN × ESTIMATED = 6 times the other, where they are the
# same, once in 57,000 calls (F with 8 and 8 degrees of freedom above 36: Σⱼ₌₄⁷ C(7,j)xʲ(1-x)⁷⁻ʲ
# with x = 1/37).
PLAIN = 3.0
# What a call of which nothing is known makes of the shares by which its inputs are apart.
UNKNOWN = 4.0
# Put out by partners and moved since; by a call that one run alone makes; by two that are no
# partners; by none that is recorded.
Way = Literal["moved", "changed", "rewired", "outside"]
# What is within so many roundings of another value may be its rounding.
FORMS = 3.0


@dataclass(frozen=True, slots=True)
class Makers:
    """The nodes that put out both sides of a value, and the value pair's indices there."""

    ours: TreeNode | None
    theirs: TreeNode | None
    outputs: tuple[int, int] = (NOWHERE, NOWHERE)


@dataclass(frozen=True, slots=True)
class Excess:
    """How many times further apart a value is than expected; `came` is what its inputs explain.

    `told` says that a bound told what to expect, and not a guess.
    """

    times: float
    row: int
    way: Way = "outside"
    makers: Makers | None = None
    came: float = 0.0
    told: bool = False


NO_EXCESS = Excess(0.0, -1)


def excess_over(
    distance: float,
    expected: float,
    row: int,
    way: Way = "moved",
    makers: Makers | None = None,
    came: float = 0.0,
    told: bool = False,
) -> Excess:
    """The excess of a distance over what is expected; none over what anything may follow from."""
    if expected == inf or distance == 0:
        return NO_EXCESS
    times = distance / expected if expected > 0 else inf
    return Excess(times, row, way, makers, came, told)


@dataclass(frozen=True, slots=True)
class Expectation:
    """How far apart a value may be: what came with the inputs, and what rounding adds.

    `told` says that gains bound it; otherwise it is guessed by the shares of what was read.
    """

    came: float
    rounding: float
    told: bool = True

    @property
    def distance(self) -> float:
        """Both together; infinite where a choice lies before the value."""
        return self.came + self.rounding


NO_BOUND = Expectation(inf, 0.0)


class Expected(Gradients):
    """What rounding and the inputs of a call explain of the distance of an output."""

    def expected(self, node: TreeNode, row: int) -> Expectation:
        """The distance that is expected of an output."""
        read = self.operands(node)
        floats = [r for r in read if not self.is_integer(r)]
        if not floats:
            return Expectation(inf, 0.0, told=False)
        if self.has_chosen(node, read):
            return NO_BOUND
        if any(self.distance[r] == inf for r in floats):
            return NO_BOUND
        if node.direction == "backward":
            return self._of_backward(node, row, floats)
        known = self.of_call(node, row) if node.kind == "api" else None
        if known is not None:
            return Expectation(known, self.noise[row])
        return Expectation(self._guessed(floats, row), self.noise[row], told=False)

    def stands_out(self, node: TreeNode, row: int) -> bool:
        """Whether an output of a call is further apart than expected at all."""
        return self.distance[row] > self.expected(node, row).distance

    def operands(self, node: TreeNode) -> list[int]:
        """The rows of all that a call computes from, for a gradient those of its forward call too.

        A parameter's gradient sums over every call of its module.
        """
        rows = self.inputs(node)
        if node.direction != "backward":
            return rows
        if node.holds_gradients:
            for call in self.calls_of(node.backward or node.parent):
                rows += self.inputs(call)
            for call in self.calls_of(node.forward):
                rows += [] if call is node.forward else self.tensor_rows(call)
        return rows + (self.tensor_rows(node.forward) if node.forward is not None else [])

    def _guessed(self, floats: list[int], row: int, uncancelled: float = 0.0) -> float:
        """A multiple of the shares by which all that was read is apart.

        Of a sum whose terms cancel, what they are apart does not: its norm counts as `uncancelled`.
        """
        share = self.together(floats)
        return UNKNOWN * ESTIMATED * share * max(self.norm[row], uncancelled)

    def of_call(self, node: TreeNode, row: int) -> float | None:
        """What came with the inputs of a call that is known."""
        told, reduces = self.told(node), has(node.call, "reduces")
        if told is None:
            return None
        gains = gains_of(node.call, told.operands, told.factors, self.result(row))
        if gains is None:
            return None
        rounds = CARRIED if reduces else 0.0
        total = 0.0
        for gain, operand, at in zip(gains, told.operands, told.rows):
            if at is None:
                continue
            apart = self.reach(at) + (rounds * operand.norm if isfinite(gain) else 0.0)
            total += gain * apart if apart > 0 else 0.0
        if reduces:
            total = max(total, self.in_step(told.rows, row))
        if self.seen[row]:
            return total
        return max(total, ESTIMATED * self.norm[row] * self.most(self.inputs(node)))

    # --- gradients --------------------------------------------------------------------------------

    def _of_backward(self, node: TreeNode, row: int, floats: list[int]) -> Expectation:
        known = self.of_gradient(node, row)
        if known is not None:
            return Expectation(known, self.noise[row])
        forward = set(self.rows(node.forward)) if node.forward is not None else set()
        flowing = [r for r in floats if r not in forward]
        walked = self._random_walk(node, row, flowing)
        came = self._guessed(floats, row, walked if node.holds_gradients else 0.0)
        came += self.gated(node, list(forward), flowing)
        return Expectation(came, self._cancelled(row, flowing, walked), told=False)

    def _cancelled(self, row: int, flowing: list[int], walked: float) -> float:
        """The rounding of a gradient, which sums what may cancel, `walked` at random."""
        reaching = max((self.norm[r] for r in flowing), default=0.0)
        size = max((self.size[r] for r in flowing), default=0.0)
        terms = SUMMED if self.size[row] < size else 1.0
        return max(self.noise[row], self.unit[row] * max(terms * reaching, SUMMED * walked))

    def _random_walk(self, node: TreeNode, row: int, flowing: list[int]) -> float:
        """The norm that a parameter's gradient would have, were its terms of random signs."""
        shape = self.theirs[row].shape or ()
        if not shape or node.forward is None or not flowing:
            return 0.0
        dy = max(flowing, key=self.size.__getitem__)
        if self.size[dy] == self.size[row]:
            return 0.0  # no parameter's
        if len(shape) == 1:
            return self.norm[dy]  # a bias: the flow itself, added up over all positions
        read = [r for r in self.inputs(node.forward) if not self.is_integer(r)]
        if not read or not self.size[dy] or not self.size[read[0]]:
            return 0.0
        positions = self.size[dy] / max(1, shape[0])
        rms = [self.norm[r] / sqrt(self.size[r]) for r in (dy, read[0])]
        return sqrt(self.size[row] * positions) * rms[0] * rms[1]
