"""How far apart a call may put out what it read apart: E = Σ Gᵢ·Δxᵢ + ρ. docs/diagnosis.md."""

from __future__ import annotations

from math import inf, isfinite, sqrt

from builder.diagnosis.distances import SUMMED, Distances
from builder.diagnosis.element_calls import api_name, gates_elements, picks_elements
from builder.diagnosis.gains import CHOOSING, REDUCING, Operand, Result, gains_of
from builder.dump.values import Record
from builder.match.tree import TreeNode

# A distance that a sketch estimates lies hardly ever further from the true one than this factor.
ESTIMATED = 2.0
# What a call of which nothing is known makes of the shares by which its inputs are apart.
UNKNOWN = 4.0
_FACTORS = ("alpha", "beta", "value")


class Expected(Distances):
    """What rounding and the inputs of a call explain of the distance of an output."""

    def expected(self, node: TreeNode, row: int) -> float:
        """The distance that is expected of an output; infinite where a choice lies before it."""
        read = self.operands(node)
        floats = [r for r in read if not self.is_integer(r)]
        if not floats or self._has_chosen(node, read):
            return inf
        if any(self.distance[r] == inf for r in floats):
            return inf
        if node.direction == "forward" and node.kind == "api":
            known = self._by_gains(node, row)
            if known is not None:
                return known + self.noise[row]
        share = sqrt(sum(self.share[r] ** 2 for r in floats if self.norm[r]))
        came = UNKNOWN * ESTIMATED * share * self.norm[row]
        return came + (self._of_gradient(node, row, floats) or self.noise[row])

    def operands(self, node: TreeNode) -> list[int]:
        """The rows of all that a call computes from, for a gradient those of its forward call too.

        A parameter's gradient sums over every call of its module.
        """
        rows = self.inputs(node)
        if node.direction != "backward":
            return rows
        if node.entry is not None and node.entry.kind == "parameters_grad":
            for call in self._calls_of(node.backward or node.parent):
                rows += self.inputs(call)
            for call in self._calls_of(node.forward):
                rows += [] if call is node.forward else self.tensor_rows(call)
        return rows + self._read_forward(node)

    def _calls_of(self, module: TreeNode | None) -> list[TreeNode]:
        if module is None or module.kind == "root":
            return []
        entry = module.entry
        return [module] if entry is None else self._calls.get((entry.path, module.direction), [])

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

    def _read_forward(self, node: TreeNode) -> list[int]:
        return self.tensor_rows(node.forward) if node.forward is not None else []

    def _has_chosen(self, node: TreeNode, read: list[int]) -> bool:
        """Whether integers that went in differ, or rounding may have picked other elements."""
        if any(self.is_integer(r) and self.distance[r] > 0 for r in read):
            return True
        if node.direction == "forward":
            return api_name(node) in CHOOSING
        return picks_elements(node) and any(self.distance[r] > 0 for r in read)

    # --- gradients --------------------------------------------------------------------------------

    def _of_gradient(self, node: TreeNode, row: int, floats: list[int]) -> float | None:
        """The rounding of a gradient, which sums what may cancel, and what gates let through."""
        if node.direction != "backward":
            return None
        forward = set(self.rows(node.forward)) if node.forward is not None else set()
        flowing = [r for r in floats if r not in forward]
        reaching = max((self.norm[r] for r in flowing), default=0.0)
        size = max((self.size[r] for r in flowing), default=0.0)
        terms = SUMMED if self.size[row] < size else 1.0
        walked = SUMMED * self._random_walk(node, row, flowing)
        own = max(self.noise[row], self.unit[row] * max(terms * reaching, walked))
        return own + (self._gated(list(forward), flowing, reaching) if gates_elements(node) else 0)

    def _gated(self, decided: list[int], flowing: list[int], reaching: float) -> float:
        """What passes through other elements: √e of it where a share e decides, and one element."""
        share = max((self.share[r] for r in decided), default=0.0)
        if share == 0:
            return 0.0
        peak = max((self.peak[r] for r in flowing), default=0.0)
        return ESTIMATED * sqrt(min(1.0, share)) * reaching + peak

    def _random_walk(self, node: TreeNode, row: int, flowing: list[int]) -> float:
        """The norm that a weight's gradient would have, were its terms of random signs."""
        shape = self.theirs[row].shape or ()
        if len(shape) < 2 or node.forward is None or not flowing:
            return 0.0
        dy = max(flowing, key=self.size.__getitem__)
        read = [r for r in self.inputs(node.forward) if not self.is_integer(r)]
        if not read or not self.size[dy] or not self.size[read[0]]:
            return 0.0
        positions = self.size[dy] / max(1, shape[0])
        rms = [self.norm[r] / sqrt(self.size[r]) for r in (dy, read[0])]
        return sqrt(self.size[row] * positions) * rms[0] * rms[1]

    # --- calls whose gains are known --------------------------------------------------------------

    def _by_gains(self, node: TreeNode, row: int) -> float | None:
        told = self._told(node)
        if told is None:
            return None
        operands, rows, factors = told
        result = Result(int(self.size[row]), self.norm[row], self.peak[row])
        gains = gains_of(api_name(node), operands, factors, result)
        if gains is None:
            return None
        rounds = SUMMED * self.unit[row] if api_name(node) in REDUCING else 0.0
        total = 0.0
        for gain, operand, at in zip(gains, operands, rows):
            if at is None:
                continue
            apart = ESTIMATED * operand.distance + self.uncertain(at)
            apart += rounds * operand.norm if isfinite(gain) else 0.0
            total += gain * apart if apart > 0 else 0.0
        return max(
            total, ESTIMATED * self.norm[row] * self.most(self.inputs(node)) * (not self.seen[row])
        )

    def _told(
        self, node: TreeNode
    ) -> tuple[list[Operand], list[int | None], dict[str, float]] | None:
        """Operands in order with their rows, None for numbers, and factors by name.

        None where one operand cannot be told: it is on one side alone, or hidden.
        """
        operands: list[Operand] = []
        rows: list[int | None] = []
        factors: dict[str, float] = {}
        for row in self.rows(node):
            key = self.comparison.keys[row].removeprefix("input.")
            is_tensor = self.ours[row].dtype is not None
            if self.comparison.is_output[row] or self.is_integer(row):
                continue
            if is_tensor:
                one = self._operand(row)
            elif key in (*_FACTORS, "other") or key.isdigit():
                one = _number(self.theirs[row])
                if one is None and not isinstance(self.theirs[row].value, int | float):
                    continue
            else:
                continue  # how a call computes, not with what
            if one is None or is_tensor != (self.theirs[row].dtype is not None):
                return None
            if key in _FACTORS:
                factors[key] = one.largest
            else:
                operands.append(one)
                rows.append(row if is_tensor else None)
        return operands, rows, factors

    def _operand(self, row: int) -> Operand | None:
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


def _number(record: Record) -> Operand | None:
    value = record.value
    if not isinstance(value, int | float) or not isfinite(value):
        return None
    magnitude = abs(float(value))
    return Operand(0.0, magnitude, magnitude, magnitude, (), magnitude)
