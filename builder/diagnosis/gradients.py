"""What explains how far apart a gradient is: the gradient that flows in, and the forward call."""

from __future__ import annotations

from math import sqrt

from builder.diagnosis.call_operands import ESTIMATED, CallOperands, Told
from builder.diagnosis.distances import CARRIED
from builder.match.tree import TreeNode
from builder.operators.gains import Operand
from builder.operators.gradient_gains import Backward, GradientGains
from builder.operators.table import gradient_gains, has


class Gradients(CallOperands):
    """What gains explain of the gradients of calls, of modules of one call, and of parameters."""

    def of_gradient(self, node: TreeNode, row: int) -> float | None:
        """What came with the inputs of a gradient; None where no gain is known."""
        parts = self._differentiated(node)
        if not parts:
            return None
        came = [self._of_part(call, flowing, row) for call, flowing in parts]
        known = [one for one in came if one is not None]
        if len(known) < len(came):
            return None
        return max(sum(known), self._handed_on(node, row))

    def _handed_on(self, node: TreeNode, row: int) -> float:
        """How far apart a call has put out what stands beside it as the gradient of a parameter."""
        if not node.holds_gradients:
            return 0.0
        shape, total = sorted(self.theirs[row].shape or ()), 0.0
        for module in self.calls_of(node.forward):
            call = self._sole_call(module)
            back = call.backward if call is not None else None
            rows = self.outputs(back) if back in self.comparison.matching.partner else []
            same = [r for r in rows if sorted(self.theirs[r].shape or ()) == shape]
            total += max(map(self.reach, same), default=0.0)
        return total

    def calls_of(self, module: TreeNode | None) -> list[TreeNode]:
        """All calls of a module in one direction."""
        if module is None or module.kind == "root":
            return []
        entry = module.entry
        return [module] if entry is None else self._calls.get((entry.path, module.direction), [])

    def of_reader(self, reader: TreeNode, row: int) -> float | None:
        """What came with the inputs of the gradient that a call gives a value that it read."""
        back = reader.backward
        if back is None or back not in self.comparison.matching.partner:
            return None
        return self._of_part(reader, self.inputs(back), row)

    def _differentiated(self, node: TreeNode) -> list[tuple[TreeNode, list[int]]]:
        """The forward calls whose gradient a node is, each with the rows of what flows in.

        A parameter's gradient sums over every call of its module; none where one is not known.
        """
        forward, entry = node.forward, node.entry
        if forward is None or entry is None:
            return []
        if not node.holds_gradients:
            call = self._sole_call(forward)
            return [] if call is None else [(call, self.inputs(node))]
        parts = []
        for module in self.calls_of(forward):
            call, back = self._sole_call(module), module.backward
            if call is None or back is None or back not in self.comparison.matching.partner:
                return []
            parts.append((call, self.inputs(back)))
        return parts

    def _sole_call(self, node: TreeNode) -> TreeNode | None:
        """A call of the forward pass, or the one call that a module consists of."""
        known = self.comparison.matching.partner
        if node.kind == "module" and len(node.children) == 1:
            (node,) = node.children
        return node if node.kind == "api" and node in known else None

    def _of_part(self, call: TreeNode, flowing: list[int], row: int) -> float | None:
        told, put_out = self.told(call), self.outputs(call)
        flows = [r for r in flowing if not self.is_integer(r)]
        if told is None or not flows:
            return None
        if not has(call.call, "moves") and (len(flows), len(put_out)) != (1, 1):
            return None
        alike = [
            number
            for number, (one, at) in enumerate(zip(told.operands, told.rows))
            if at is not None and one.size == self.size[row]
        ]
        bounds = [self._by_gains(call, told, put_out[0], flows, number, row) for number in alike]
        known = [bound for bound in bounds if bound is not None]
        shape = self.theirs[row].shape
        viewed = all(told.operands[number].shape != shape for number in alike)
        if viewed and self.size[row] == sum(self.size[r] for r in flows):
            # Of a call that ends with a view this is the view's; its own stands at the module.
            known.append(sum(map(self.reach, flows)))
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
            total += _times(gains.flowing, self.reach(at) + rounds)
            total += _times(gains.result, self.reach(put_out))
            for number, gain in gains.operands.items():
                read = told.rows[number]
                total += 0.0 if read is None else _times(gain, self.reach(read))
        if has(name, "reduces", "moves"):
            others = [r for n, r in enumerate(told.rows) if n != of]
            total = max(total, self.in_step([*flows, *others], row))
        return total + self.gated(call, self.tensor_rows(call), flows)

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
        share = max((self.share[r] for r in decided), default=0.0)
        if share == 0:
            return 0.0
        reaching = max((self.norm[r] for r in flowing), default=0.0)
        peak = max((self.peak[r] for r in flowing), default=0.0)
        passed = ESTIMATED * sqrt(min(1.0, share)) * reaching + peak
        return sqrt(2.0) * passed if has(call.call, "extremes") else passed

    @property
    def _calls(self) -> dict[tuple[str, str | None], list[TreeNode]]:
        if self._by_path is None:
            self._by_path = {}
            matching = self.comparison.matching
            for node in matching.problem.in_order:
                entry = node.entry
                if entry is not None and entry.kind == "module" and node in matching.partner:
                    self._by_path.setdefault((entry.path, node.direction), []).append(node)
        return self._by_path

    _by_path: dict[tuple[str, str | None], list[TreeNode]] | None = None


def _times(gain: float, apart: float) -> float:
    """A gain of what is apart; what agrees stays so, whatever the gain."""
    return gain * apart if apart > 0 and gain > 0 else 0.0
