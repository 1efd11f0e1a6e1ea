"""How far apart a call may put out what it read apart: E = Σ Gᵢ·Δxᵢ + ρ.

docs/internals/diagnosis-rules.md explains it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, sqrt

from builder.diagnosis.excess import PLAIN, UNKNOWN
from builder.dump.values import Record
from builder.evidence.distances import CARRIED, ESTIMATED, SUMMED, Evidence
from builder.match.tree import TreeNode
from builder.operators.gains import Operand, Result
from builder.operators.gradient_gains import Backward, GradientGains
from builder.operators.table import gains_of, gradient_gains, has

# Two unrelated values of one length are √2 of it apart, which estimates may halve.
_UNRELATED = 2**0.5 / ESTIMATED
_FACTORS = ("alpha", "beta", "value")


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


@dataclass(frozen=True, slots=True)
class Told:
    """The operands of a call in order with their rows, None for numbers, and factors by name."""

    operands: list[Operand]
    rows: list[int | None]
    factors: dict[str, float]


class Expectations:
    """What rounding and the inputs of a call explain of how far apart it puts a value out."""

    def __init__(self, evidence: Evidence) -> None:
        self.known, self._paired = evidence, evidence.paired
        self._matching = evidence.paired.comparison.matching

    def of(self, node: TreeNode, row: int) -> Expectation:
        """The distance that is expected of an output."""
        read = self.operands(node)
        floats = [r for r in read if not self._paired.is_integer(r)]
        if not read:
            return Expectation(inf, 0.0, told=False)
        if self.has_chosen(node, read):
            return NO_BOUND
        if not floats:  # a mask or an index that agrees: what is made of it alone agrees, too
            return Expectation(0.0, self.known.noise[row])
        if any(self.known.distance[r] == inf for r in floats):
            return NO_BOUND
        if node.direction == "backward":
            return self._of_backward(node, row, floats)
        known = self.of_call(node, row) if node.kind == "api" else None
        if known is not None:
            return Expectation(known, self.known.noise[row])
        return Expectation(self._guessed(floats, row), self.known.noise[row], told=False)

    def stands_out(self, node: TreeNode, row: int) -> bool:
        """Whether an output of a call is further apart than expected at all."""
        return self.known.distance[row] > self.of(node, row).distance

    def operands(self, node: TreeNode) -> list[int]:
        """The rows of all that a call computes from, for a gradient those of its forward call too.

        A parameter's gradient sums over every call of its module.
        """
        rows = self.known.inputs(node)
        if node.direction != "backward":
            return rows
        if node.holds_gradients:
            for call in self.calls_of(node.backward or node.parent):
                rows += self.known.inputs(call)
            for call in self.calls_of(node.goes_through):
                rows += [] if call is node.goes_through else self.known.tensor_rows(call)
        return rows + (
            self.known.tensor_rows(node.goes_through) if node.goes_through is not None else []
        )

    def _guessed(self, floats: list[int], row: int, uncancelled: float = 0.0) -> float:
        """A multiple of the shares by which all that was read is apart.

        Of a sum whose terms cancel, what they are apart does not: its norm counts as `uncancelled`.
        """
        share = self.known.together(floats)
        return UNKNOWN * ESTIMATED * share * max(self.known.norm[row], uncancelled)

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
            apart = self.known.reach(at) + (rounds * operand.norm if isfinite(gain) else 0.0)
            total += gain * apart if apart > 0 else 0.0
        if reduces:
            total = max(total, self.in_step(told.rows, row))
        if self.known.seen[row]:
            return total
        return max(
            total,
            ESTIMATED * self.known.norm[row] * self.known.most(self.known.inputs(node)),
        )

    # --- gradients --------------------------------------------------------------------------------

    def _of_backward(self, node: TreeNode, row: int, floats: list[int]) -> Expectation:
        known = self.of_gradient(node, row)
        if known is not None:
            return Expectation(known, self.known.noise[row])
        forward, flowing = self._flowing(node, floats)
        walked = self._random_walk(node, row, flowing)
        came = self._guessed(floats, row, walked if node.holds_gradients else 0.0)
        came += self._gathered(node, row)
        came += self.gated(node, list(forward), flowing)
        return Expectation(came, self._cancelled(row, flowing, walked), told=False)

    def is_idle(self, row: int) -> bool:
        """Whether a gradient is nothing but the rounding of what cancels in it, in both runs.

        Roundings of two runs have nothing in common: such gradients are apart by as much as they
        are long, if not by √2 of that. One that is merely short is like its partner.
        """
        node = self._matching.problem.in_order[self._paired.comparison.pairs.node[row]]
        if node.direction != "backward" or self._paired.is_integer(row):
            return False
        if self.known.distance[row] < _UNRELATED * self.known.norm[row]:
            return False
        floats = [r for r in self.operands(node) if not self._paired.is_integer(r)]
        _, flowing = self._flowing(node, floats)
        rounding = self._cancelled(row, flowing, self._random_walk(node, row, flowing))
        return self.known.norm[row] <= PLAIN * rounding

    def _flowing(self, node: TreeNode, floats: list[int]) -> tuple[set[int], list[int]]:
        """The rows of a gradient's forward call, and which of `floats` flow back into it."""
        forward = (
            set(self._paired.rows(node.goes_through)) if node.goes_through is not None else set()
        )
        return forward, [r for r in floats if r not in forward]

    def _cancelled(self, row: int, flowing: list[int], walked: float) -> float:
        """The rounding of a gradient, which sums what may cancel, `walked` at random."""
        reaching = max((self.known.norm[r] for r in flowing), default=0.0)
        size = max((self.known.size[r] for r in flowing), default=0.0)
        terms = SUMMED if self.known.size[row] < size else 1.0
        return max(
            self.known.noise[row],
            self.known.unit[row] * max(terms * reaching, SUMMED * walked),
        )

    def _random_walk(self, node: TreeNode, row: int, flowing: list[int]) -> float:
        """The norm that a parameter's gradient would have, were its terms of random signs."""
        shape = self._paired.theirs[row].shape or ()
        if not shape or node.goes_through is None or not flowing:
            return 0.0
        dy = max(flowing, key=self.known.size.__getitem__)
        if self.known.size[dy] == self.known.size[row]:
            return 0.0  # no parameter's
        if len(shape) == 1:
            return self.known.norm[dy]  # a bias: the flow itself, added up over all positions
        read = [r for r in self.known.inputs(node.goes_through) if not self._paired.is_integer(r)]
        if not read or not self.known.size[dy] or not self.known.size[read[0]]:
            return 0.0
        positions = self.known.size[dy] / max(1, shape[0])
        rms = [self.known.norm[r] / sqrt(self.known.size[r]) for r in (dy, read[0])]
        return sqrt(self.known.size[row] * positions) * rms[0] * rms[1]

    def of_gradient(self, node: TreeNode, row: int) -> float | None:
        """What came with the inputs of a gradient; None where no gain is known."""
        parts = self._differentiated(node)
        if not parts:
            return None
        came = [self._of_part(call, flowing, row) for call, flowing in parts]
        known = [one for one in came if one is not None]
        if len(known) < len(came):
            return None
        return max(sum(known), self._handed_on(node, row)) + self._gathered(node, row)

    def _gathered(self, node: TreeNode, row: int) -> float:
        """How far apart the gradient was that an earlier pass left of the same parameter."""
        earlier = self._earlier_gradients.get(node) if node.holds_gradients else None
        rows = self.known.outputs(earlier) if earlier in self._matching.partner else []
        key = self._paired.comparison.keys[row]
        same = [r for r in rows if self._paired.comparison.keys[r] == key]
        return max(map(self.known.reach, same), default=0.0)

    @cached_property
    def _earlier_gradients(self) -> dict[TreeNode, TreeNode]:
        """What holds a module's gradients, by the node that holds what they grew to."""
        latest: dict[str, TreeNode] = {}
        found: dict[TreeNode, TreeNode] = {}
        for node in self._matching.problem.in_order:
            if node.holds_gradients:
                if node.owner in latest:
                    found[node] = latest[node.owner]
                latest[node.owner] = node
        return found

    def _handed_on(self, node: TreeNode, row: int) -> float:
        """How far apart a call has put out what stands beside it as the gradient of a parameter."""
        if not node.holds_gradients:
            return 0.0
        shape, total = sorted(self._paired.theirs[row].shape or ()), 0.0
        for module in self.calls_of(node.goes_through):
            call = self._sole_call(module)
            back = call.backward if call is not None else None
            rows = self.known.outputs(back) if back in self._matching.partner else []
            same = [r for r in rows if sorted(self._paired.theirs[r].shape or ()) == shape]
            total += max(map(self.known.reach, same), default=0.0)
        return total

    def is_differentiated_again(self, node: TreeNode) -> bool:
        """Whether a parameter's gradient holds what a later pass brought through an earlier one.

        As of a penalty on gradients: the pass that made these is differentiated itself.
        """
        return node.holds_gradients and any(
            back.micro_step == node.micro_step and back.in_step[0] < node.in_step[0]
            for back in self.summed_over(node)
        )

    def summed_over(self, node: TreeNode) -> list[TreeNode]:
        """The backward calls of a module whose gradients a node holds: those since the last such.

        One for each of many micro-batches; each of them is asked for.
        """
        last = node.backward or node.parent
        calls, earlier = self.calls_of(last), self._earlier_gradients.get(node)
        begin = bisect_right(calls, _ran(earlier.backward or earlier), key=_ran) if earlier else 0
        return calls[begin : bisect_right(calls, _ran(last or node), key=_ran)]

    def calls_of(self, module: TreeNode | None) -> list[TreeNode]:
        """All calls of a module in one direction."""
        if module is None or module.kind == "root":
            return []
        entry = module.entry
        return [module] if entry is None else self._calls.get((entry.path, module.direction), [])

    def of_reader(self, reader: TreeNode, row: int) -> float | None:
        """What came with the inputs of the gradient that a call gives a value that it read."""
        back = reader.backward
        if back is None or back not in self._matching.partner:
            return None
        return self._of_part(reader, self.known.inputs(back), row)

    def _differentiated(self, node: TreeNode) -> list[tuple[TreeNode, list[int]]]:
        """The forward calls whose gradient a node is, each with the rows of what flows in.

        A parameter's gradient sums over every call of its module; none where one is not known.
        """
        forward, entry = node.goes_through, node.entry
        if forward is None or entry is None:
            return []
        if not node.holds_gradients:
            call = self._sole_call(forward)
            return [] if call is None else [(call, self.known.inputs(node))]
        parts = []
        for module in self.calls_of(forward):
            call, back = self._sole_call(module), module.backward
            if call is None or back is None or back not in self._matching.partner:
                return []
            parts.append((call, self.known.inputs(back)))
        return parts

    def _sole_call(self, node: TreeNode) -> TreeNode | None:
        """A call of the forward pass, or the one call that a module consists of."""
        known = self._matching.partner
        if node.kind == "module" and len(node.children) == 1:
            (node,) = node.children
        return node if node.kind == "api" and node in known else None

    def _of_part(self, call: TreeNode, flowing: list[int], row: int) -> float | None:
        told, put_out = self.told(call), self.known.outputs(call)
        flows = [r for r in flowing if not self._paired.is_integer(r)]
        if told is None or not flows:
            return None
        if not has(call.call, "moves") and (len(flows), len(put_out)) != (1, 1):
            return None
        alike = [
            number
            for number, (one, at) in enumerate(zip(told.operands, told.rows))
            if at is not None and one.size == self.known.size[row]
        ]
        bounds = [self._by_gains(call, told, put_out[0], flows, number, row) for number in alike]
        known = [bound for bound in bounds if bound is not None]
        shape = self._paired.theirs[row].shape
        viewed = all(told.operands[number].shape != shape for number in alike)
        if viewed and self.known.size[row] == sum(self.known.size[r] for r in flows):
            # Of a call that ends with a view this is the view's; its own stands at the module.
            known.append(sum(map(self.known.reach, flows)))
        return max(known, default=None)

    def _by_gains(
        self, call: TreeNode, told: Told, put_out: int, flows: list[int], of: int, row: int
    ) -> float | None:
        result, name = self.operand(put_out), call.call
        ways = [self.operand(r) for r in flows]
        if result is None:
            return None
        total = 0.0
        for at, flow in zip(flows, ways):
            gains = None if flow is None else self._gains(name, told, result, flow, of, row)
            if gains is None or flow is None:
                return None
            rounds = CARRIED * flow.norm if has(name, "reduces") else 0.0
            total += _times(gains.flowing, self.known.reach(at) + rounds)
            total += _times(gains.result, self.known.reach(put_out))
            for number, gain in gains.operands.items():
                read = told.rows[number]
                total += 0.0 if read is None else _times(gain, self.known.reach(read))
        if has(name, "reduces", "moves"):
            others = [r for n, r in enumerate(told.rows) if n != of]
            total = max(total, self.in_step([*flows, *others], row))
        return total + self.gated(call, self.known.tensor_rows(call), flows)

    def _gains(
        self, name: str, told: Told, result: Operand, flow: Operand, of: int, row: int
    ) -> GradientGains | None:
        given = Backward(told.operands, told.factors, result, flow, of, self.result(row))
        return gradient_gains(name, given)

    def gated(self, call: TreeNode, decided: list[int], flowing: list[int]) -> float:
        """What passes through other elements: √e of it where a share e decides, and one element.

        Where it goes to the extremes of windows, what leaves one element reaches another.
        """
        if not has(call.call, "gates", "extremes"):
            return 0.0
        share = max((self.known.share[r] for r in decided), default=0.0)
        if share == 0:
            return 0.0
        reaching = max((self.known.norm[r] for r in flowing), default=0.0)
        peak = max((self.known.peak[r] for r in flowing), default=0.0)
        passed = ESTIMATED * sqrt(min(1.0, share)) * reaching + peak
        return sqrt(2.0) * passed if has(call.call, "extremes") else passed

    @cached_property
    def _calls(self) -> dict[tuple[str, str | None], list[TreeNode]]:
        found: dict[tuple[str, str | None], list[TreeNode]] = defaultdict(list)
        for node in self._matching.problem.in_order:
            entry = node.entry
            if entry is not None and entry.kind == "module" and node in self._matching.partner:
                found[entry.path, node.direction].append(node)
        return found

    # --- operands ---------------------------------------------------------------------------------

    def told(self, node: TreeNode) -> Told | None:
        """The operands of a call; None where one cannot be told: on one side alone, or hidden."""
        told = Told([], [], {})
        for row in self._paired.rows(node):
            key = self._paired.comparison.keys[row].removeprefix("input.")
            is_tensor = self._paired.ours[row].dtype is not None
            if self._paired.is_output[row] or self._paired.is_integer(row):
                continue
            if is_tensor:
                one = self.operand(row)
            elif key in (*_FACTORS, "other") or key.isdigit():
                one = _number(self._paired.theirs[row])
                if one is None and not isinstance(self._paired.theirs[row].value, int | float):
                    continue
            else:
                continue  # how a call computes, not with what
            if one is None or is_tensor != (self._paired.theirs[row].dtype is not None):
                return None
            if key in _FACTORS:
                told.factors[key] = one.largest
            else:
                told.operands.append(one)
                told.rows.append(row if is_tensor else None)
        return told

    def operand(self, row: int) -> Operand | None:
        """The tensor of a row; None where its size is not known."""
        shape = self._paired.theirs[row].shape
        if shape is None or self.known.hidden[row]:
            return None
        return Operand(
            self.known.distance[row],
            self.known.norm[row],
            self.known.mean[row],
            self.known.largest[row],
            shape,
            self.known.smallest[row],
        )

    def result(self, row: int) -> Result:
        """What was put out in a row."""
        return Result(
            int(self.known.size[row]),
            self.known.norm[row],
            self.known.peak[row],
            self.known.mean[row],
        )

    def has_chosen(self, node: TreeNode, read: list[int]) -> bool:
        """Whether integers that went in differ, or rounding may have picked other elements."""
        if any(self._paired.is_integer(r) and self.known.distance[r] > 0 for r in read):
            return True
        if node.direction == "forward":
            return has(node.call, "chooses")
        ranks = has(node.call, "picks") and not has(node.call, "extremes")
        return ranks and any(self.known.distance[r] > 0 for r in read)

    def in_step(self, rows: list[int | None], output: int) -> float:
        """The distance of a sum whose errors are in step with its terms, and do not cancel.

        The bounds of sums over many terms are those of random signs.
        """
        read = [r for r in rows if r is not None]
        return (
            sum(self.known.reach(r) / self.known.norm[r] for r in read if self.known.norm[r])
            * self.known.norm[output]
        )


def _number(record: Record) -> Operand | None:
    value = record.value
    if not isinstance(value, int | float) or not isfinite(value):
        return None
    magnitude = abs(float(value))
    return Operand(0.0, magnitude, magnitude, magnitude, (), magnitude)


def _times(gain: float, apart: float) -> float:
    """A gain of what is apart; what agrees stays so, whatever the gain."""
    return gain * apart if apart > 0 and gain > 0 else 0.0


def _ran(node: TreeNode) -> int:
    return node.exec_order
