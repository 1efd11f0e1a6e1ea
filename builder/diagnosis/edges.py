"""How far apart a value may be read: as far as it was put out, and a rounding."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Literal

import numpy as np

from builder.diagnosis.call_operands import ESTIMATED
from builder.diagnosis.element_calls import api_name
from builder.diagnosis.excess import UNKNOWN, Expected
from builder.diagnosis.facts import Facts
from builder.diagnosis.structure import is_in, scope_of
from builder.flow.feeding import NOWHERE, Flow
from builder.flow.fingerprints import NO_PRINT
from builder.match.step_phases import StepPhase, phase_of
from builder.match.tree import TreeNode
from msprobe_core.format import is_integer_dtype

# Put out by partners and moved since; by a call that one run alone makes; by two that are no
# partners; by none that is recorded.
Way = Literal["moved", "changed", "rewired", "outside"]


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


class Edges:
    """The makers of what nodes read, and the excess on the way.

    `note` remembers by how much the values of a module and of a pass are apart, which is all that
    can be expected of a value that no recorded call made.
    """

    def __init__(self, facts: Facts, known: Expected, flows: tuple[Flow, Flow]) -> None:
        self._facts, self._known, self._flows = facts, known, flows
        self._matching = facts.comparison.matching
        self._inside: dict[TreeNode | None, float] = defaultdict(float)
        self._in_pass: dict[StepPhase, float] = defaultdict(float)
        self._incomparable = frozenset(facts.comparison.incomparable)

    def makers(self, row: int) -> Makers:
        """Who put out the two sides of a value, as far as the dumps tell."""
        found = [flow.get(i) for flow, i in zip(self._made, self._facts.value_pair(row))]
        trees = (self._matching.problem, self._matching.benchmark)
        nodes = [t.in_order[at[0]] if at else None for t, at in zip(trees, found)]
        outputs = [at[1] if at else NOWHERE for at in found]
        return Makers(nodes[0], nodes[1], (outputs[0], outputs[1]))

    def makers_of_values(self, indices: range) -> list[TreeNode]:
        """Who put out what a node that the problem alone has reads."""
        found = (self._made[0].get(index) for index in indices)
        return [self._matching.problem.in_order[at[0]] for at in found if at is not None]

    def of_input(self, node: TreeNode, row: int) -> Excess:
        """The excess of a value that a node reads over what its maker put out."""
        known = self._known
        if known.hidden[row] or known.is_rounded(row):
            return NO_EXCESS
        if self.is_of_another_form(row) and not self._shows(node):
            return NO_EXCESS
        makers = self.makers(row)
        if self.are_partners(makers):
            return self._moved(node, row, makers)
        share = self.around(node)
        if known.is_integer(row):
            blind = share > 0 and self._come_of_floats(makers)
            return NO_EXCESS if blind else Excess(inf, row, "outside", makers)
        added = self._added_up(node.forward, row) if node.direction == "backward" else None
        if added is not None:
            return self._excess(row, added, "moved", makers)
        way = self._way(makers)
        much = 1.0 if way == "changed" else UNKNOWN
        return self._excess(row, ESTIMATED * much * share * known.norm[row], way, makers)

    def of_module_output(self, node: TreeNode, row: int) -> Excess:
        """The excess of what a module puts out over what was put out inside it."""
        known = self._known
        if known.hidden[row] or known.is_integer(row) or known.is_rounded(row):
            return NO_EXCESS
        makers = self._makers_inside(node, row)
        share = max(self._inside[node], known.most(known.inputs(node)))
        if self.are_partners(makers):
            return self._moved(node, row, makers)
        if makers.ours is not None or makers.theirs is not None:
            way = self._way(makers)
            return self._excess(row, ESTIMATED * UNKNOWN * share * known.norm[row], way, makers)
        noise = known.noise[row]
        if node.direction == "backward":
            forward = node.forward
            came = known.of_gradient(node, row)
            if came is None and forward is not None:
                came = self._added_up(forward, row, inside=True)
            if came is not None:
                return self._excess(row, came, "moved", makers)
            if forward is not None:
                share = max(share, self._inside[forward], known.most(known.tensor_rows(forward)))
            read = [r for r in known.inputs(node) if not known.is_integer(r)]
            largest = max([known.norm[row], *(known.norm[r] for r in read)])
            noise *= largest / max(known.norm[row], 1e-300)
        came = ESTIMATED * UNKNOWN * share * known.norm[row]
        return excess_over(known.distance[row], came + noise, row, came=came)

    def around(self, node: TreeNode) -> float:
        """The largest share by which what a node may have come from is apart."""
        phase = phase_of(node)
        if phase == "after":
            return max(self._in_pass["after"], self._in_pass["backward"])
        scope = scope_of(node)
        if scope is None:
            return max(self._inside[None], self._in_pass[phase])
        read = self._known.inputs(scope) if scope in self._matching.partner else []
        if not read:
            return max(self._inside[scope], self._in_pass[phase])
        return max(self._inside[scope], *(self._known.share[r] for r in read))

    def note(self, node: TreeNode, rows: list[int]) -> None:
        """Remember by how much rows of a node are apart, for what runs beside and behind it."""
        share = self._known.most(rows)
        if share == 0:
            return
        phase = phase_of(node)
        self._in_pass[phase] = max(self._in_pass[phase], share)
        self._inside[None] = max(self._inside[None], share)
        up = node.parent
        while up is not None and up.kind != "root":
            self._inside[up] = max(self._inside[up], share)
            up = up.parent

    def is_of_another_form(self, row: int) -> bool:
        """Whether the sides of a value have another shape, or one of them is of integers."""
        return self._facts.is_reshaped(row) or self._facts.is_of_another_kind(row)

    def _shows(self, node: TreeNode) -> bool:
        """Whether a call computes something else from inputs in another form."""
        known = self._known
        read = [r for r in known.operands(node) if not self.is_of_another_form(r)]
        share, outputs = known.most(read), known.outputs(node)
        return not outputs or any(
            known.distance[r]
            > _FORMS * known.noise[r] + ESTIMATED * UNKNOWN * known.norm[r] * share
            for r in outputs
        )

    def are_partners(self, makers: Makers) -> bool:
        """Whether the same call made both sides."""
        ours, theirs = makers.ours, makers.theirs
        return (
            ours is not None and theirs is not None and self._matching.partner.get(ours) is theirs
        )

    def unmatched(self, makers: Makers) -> TreeNode | None:
        """The maker that one run alone has."""
        both = (makers.ours, makers.theirs)
        return next((n for n in both if n is not None and n not in self._matching.partner), None)

    def _way(self, makers: Makers) -> Way:
        if self.unmatched(makers) is not None:
            return "changed"
        return "outside" if makers.ours is None and makers.theirs is None else "rewired"

    def _come_of_floats(self, makers: Makers) -> bool:
        """Whether rounding can have reached an integer: floats lie upstream of a maker of it."""
        made = zip(self._made, self._flows, (makers.ours, makers.theirs))
        return any(node is not None and _reads_floats(node, at, flow) for at, flow, node in made)

    def _moved(self, node: TreeNode, row: int, makers: Makers) -> Excess:
        """Moved or copied: ‖Δ‖ ≤ ‖Δ as it was put out‖·√copies."""
        known = self._known
        outputs = self._put_out(makers)
        unlike = any(known.hidden[r] or not known.known[r] for r in outputs)
        if not outputs or unlike or any(known.seen[r] != known.seen[row] for r in outputs):
            return NO_EXCESS
        base = max(known.distance[r] for r in outputs)
        if known.is_integer(row):
            return NO_EXCESS if base > 0 else Excess(inf, row, "moved", makers)
        size = max(known.size[r] for r in outputs)
        came = ESTIMATED * base * sqrt(max(1.0, known.size[row] / max(1.0, size)))
        if phase_of(node) == "after":
            # Gradients are scaled in place and added up over micro-steps: nothing records it.
            came = max(came, ESTIMATED * UNKNOWN * self.around(node) * known.norm[row])
            if not any(known.distance[r] > _FORMS * known.noise[r] for r in known.outputs(node)):
                return NO_EXCESS  # what was read in truth agrees
        return self._excess(row, came, "moved", makers)

    def _put_out(self, makers: Makers) -> list[int]:
        """The row that was put out, or where the sides tell of two, all rows of the maker."""
        ours, theirs = (rows.get(i) for rows, i in zip(self._rows, makers.outputs))
        if ours is not None and ours == theirs:
            return [ours]
        assert makers.ours is not None
        return self._known.outputs(makers.ours)

    def _excess(self, row: int, came: float, way: Way, makers: Makers) -> Excess:
        expected = came + self._known.noise[row]
        told = way == "moved"
        return excess_over(self._known.distance[row], expected, row, way, makers, came, told)

    # --- gradients that are added up --------------------------------------------------------------

    def _added_up(self, node: TreeNode | None, row: int, inside: bool = False) -> float | None:
        """How far apart a gradient is that those of all readers of a value were added up to.

        `row` is the gradient of what a node of the forward pass put out, or with `inside` of what
        it read; None where a reader's gradient is not recorded.
        """
        if node is None or node not in self._matching.partner:
            return None
        known, shape = self._known, self._known.theirs[row].shape
        values = known.inputs(node) if inside else known.outputs(node)
        alike = [r for r in values if known.theirs[r].shape == shape]
        came = [self._read_back(node, r, row, inside) for r in alike]
        told = [one for one in came if one is not None]
        # Where two values have one shape, either may be the one.
        return max(told) if told and len(told) == len(came) else None

    def _read_back(self, node: TreeNode, value: int, row: int, inside: bool) -> float | None:
        """How far apart the gradients are together that the readers of a value give it."""
        number = self._flows[0].prints.numbers[self._facts.value_pair(value)[0]]
        readers = [] if number == NO_PRINT else self._readers.get(number, [])
        if inside:
            readers = [reader for reader in readers if is_in(reader, node)]
        if not readers:
            return None
        given = [self._gradient_of(reader, value, node) for reader in readers]
        parts = [one for one in given if one is not None]
        if len(parts) == len(given) and self._is_sum(row, parts):
            return sum(map(self._known.reach, parts))
        # Otherwise something that nobody recorded reads it too, or the call consists of several.
        (first, *others) = readers
        if others or api_name(first) not in _OF_SEVERAL:
            return None
        known = self._known
        if known.has_chosen(first, known.inputs(first)):
            return None  # other labels make another gradient of the same numbers
        whole = known.of_reader(first, row)
        if whole is None or any(known.stands_out(first, r) for r in known.outputs(first)):
            return None  # what it keeps for its gradient may be as wrong as what it puts out
        recorded = known.outputs(first.backward) if first.backward is not None else []
        same = (r for r in recorded if known.size[r] == known.size[row])
        part = max(map(known.reach, same), default=0.0)
        # Of g − p·Σg behind it, with p of norm 1 at most.
        return whole + (1 + sqrt((known.theirs[row].shape or (1,))[-1])) * part

    def silent_maker(self, node: TreeNode, row: int) -> TreeNode | None:
        """The backward call that made a gradient which `node` received, where none is recorded that
        it hands on: that of the one call which read what the forward call of `node` put out.
        """
        forward, known = node.forward, self._known
        if node.direction != "backward" or forward not in self._matching.partner:
            return None
        alike = [
            r for r in known.outputs(forward) if known.theirs[r].shape == known.theirs[row].shape
        ]
        values = {self._facts.value_pair(each)[0] for each in alike}
        numbers = {self._flows[0].prints.numbers[value] for value in values} - {NO_PRINT}
        readers = {reader for number in numbers for reader in self._readers.get(number, ())}
        backs = [reader.backward for reader in readers]
        if len(backs) != 1 or backs[0] not in self._matching.partner:
            return None
        return None if known.outputs(backs[0]) else backs[0]

    def _is_sum(self, row: int, parts: list[int]) -> bool:
        """Whether the benchmark's gradient is the sum of some others: its sketch tells."""
        _, columns = self._facts.comparison.columns
        _, whole = self._facts.value_pair(row)
        pairs = [self._facts.value_pair(part)[1] for part in parts]
        known = columns.sketches
        if known is None:
            return False
        missing = known[whole] - known[pairs].sum(axis=0)
        allowed = _FORMS * sum(self._known.noise[r] for r in (row, *parts))
        return bool(np.sqrt(np.mean(missing**2)) <= allowed)

    def _gradient_of(self, reader: TreeNode, row: int, asked: TreeNode) -> int | None:
        """The row of the gradient that a call gives a value that it read.

        A linear layer's is recorded of its module alone, unless that is what is `asked` for.
        """
        known, shape = self._known, self._known.theirs[row].shape
        above = reader.parent
        alone = above is not None and above.kind == "module" and len(above.children) == 1
        alone = alone and above is not asked
        for one in (above if alone else None, reader):
            back = one.backward if one is not None else None
            if back is None or back not in self._matching.partner:
                continue
            alike = [r for r in known.outputs(back) if known.theirs[r].shape == shape]
            if alike and not self._incomparable.isdisjoint(alike):
                return None  # the other framework records the gradient of something else
            if alike:
                return max(alike, key=known.distance.__getitem__)
        return None

    @cached_property
    def _readers(self) -> dict[int, list[TreeNode]]:
        """The calls of the problem's forward pass that read a value, by its fingerprint."""
        flow = self._flows[0]
        found: dict[int, list[TreeNode]] = defaultdict(list)
        for value, consumer in zip(flow.value.tolist(), flow.consumer.tolist()):
            reader = self._matching.problem.in_order[consumer]
            if reader.direction == "forward" and reader.kind == "api":
                found[flow.prints.numbers[value]].append(reader)
        return found

    def _makers_inside(self, node: TreeNode, row: int) -> Makers:
        """The innermost nodes inside both sides of a module that put out what it puts out."""
        tops = (node, self._matching.partner[node])
        sides = zip(self._flows, tops, self._facts.value_pair(row))
        found = [flow.made_inside(top, index) for flow, top, index in sides]
        nodes = [None if at is None else at[0] for at in found]
        outputs = [NOWHERE if at is None else at[1] for at in found]
        return Makers(nodes[0], nodes[1], (outputs[0], outputs[1]))

    @cached_property
    def _made(self) -> tuple[dict[int, tuple[int, int]], ...]:
        return tuple(
            dict(zip(f.value.tolist(), zip(f.producer.tolist(), f.output.tolist())))
            for f in self._flows
        )

    @cached_property
    def _rows(self) -> tuple[dict[int, int], dict[int, int]]:
        pairs = self._facts.comparison.pairs
        ours, theirs = pairs.problem.tolist(), pairs.benchmark.tolist()
        return {v: r for r, v in enumerate(ours)}, {v: r for r, v in enumerate(theirs)}


_FORMS = 3.0
# Calls that record the gradient of the last of their calls alone.
_OF_SEVERAL = frozenset(("cross_entropy",))


def _reads_floats(maker: TreeNode, made: dict[int, tuple[int, int]], flow: Flow) -> bool:
    """Whether a call reads floats, or what calls before it made of some; `made` tells by whom."""
    values, seen, pending = flow.tree.dump.values, {maker}, [maker]
    while pending:
        for index in range(*pending.pop().values):
            dtype = values.records[index].dtype
            if dtype is None or values.keys[index].startswith("output"):
                continue
            if not is_integer_dtype(dtype):
                return True
            before = flow.tree.in_order[made[index][0]] if index in made else None
            if before is not None and before not in seen:
                seen.add(before)
                pending.append(before)
    return False
