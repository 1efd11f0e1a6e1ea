"""What the gradient of a value is made of: the gradients that its readers return, added up.

Sketches of the benchmark tell whether they add up to it. Where they do, those of the problem have
to as well, however far apart the parts are. Of parts that were moved on their way the sketches say
nothing; where the readers took other elements each, norm and peak tell instead.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import islice, product
from math import sqrt

from builder.diagnosis.changes import is_in
from builder.diagnosis.excess import Excess, excess_over
from builder.diagnosis.facts import Facts
from builder.diagnosis.policies.by_excess import sketched_sums
from builder.diagnosis.policies.by_excess.moved_values import stand_beside
from builder.flow.feeding import NOWHERE, Flow
from builder.flow.fingerprints import NO_PRINT
from builder.match.tree import TreeNode
from builder.operators.table import has

# Ways to take one gradient of each reader that are tried: two operands of four readers.
_TRIED = 16


class ReturnedGradients:
    """The gradients that the readers of a value return, and the excess of their sum."""

    def __init__(self, facts: Facts, flows: tuple[Flow, Flow]) -> None:
        self._facts, self._known, self._flow = facts, facts.known, flows[0]
        self._matching = facts.comparison.matching
        self._incomparable = frozenset(facts.comparison.blank.incomparable)

    def of_output(self, node: TreeNode | None, row: int) -> Excess | None:
        """The excess of the gradient of what a node of the forward pass put out."""
        if node is None or node not in self._matching.partner:
            return None
        return self._least(node, self._known.outputs(node), row, inside=False)

    def of_input(self, node: TreeNode | None, row: int) -> Excess | None:
        """The excess of the gradient of what a module read over those of its calls."""
        if node is None or node not in self._matching.partner:
            return None
        return self._least(node, self._known.inputs(node), row, inside=True)

    def _least(self, node: TreeNode, values: list[int], row: int, inside: bool) -> Excess | None:
        """Where two values have the gradient's shape, either may be the one.

        None where a reader's gradient is not recorded.
        """
        shape = self._known.paired.theirs[row].shape
        alike = [r for r in values if self._known.paired.theirs[r].shape == shape]
        told = [self._of_value(node, r, row, inside) for r in alike]
        known = [one for one in told if one is not None]
        complete = known and len(known) == len(told)
        return min(known, key=lambda one: one.times) if complete else None

    def _of_value(self, node: TreeNode, value: int, row: int, inside: bool) -> Excess | None:
        readers = self._readers_of(value, node, inside)
        if not readers:
            return None
        given = self._given_by(readers, value, node)
        for parts in islice(product(*given), _TRIED):
            excess = self._of_sum(row, parts) or stand_beside(self._known, row, parts)
            if excess is not None:
                return excess
        came = self._of_composite([reader for reader, _ in readers], row)
        return None if came is None else self._over(row, came)

    def _given_by(
        self, readers: Sequence[tuple[TreeNode, float]], value: int, asked: TreeNode
    ) -> list[list[int]]:
        """Of each reading of a value the rows that may be the gradient it gives.

        A call that reads the same numbers more often than it gives gradients read a detached value
        as well, which has none.
        """
        found, used = [], Counter[TreeNode]()
        for reader, size in readers:
            rows = self._gradients_of(reader, size, value, asked)
            used[reader] += 1
            if not rows or used[reader] <= len(rows):
                found.append(rows)
        return found

    # --- parts of a sum ---------------------------------------------------------------------------

    def _of_sum(self, row: int, parts: Sequence[int]) -> Excess | None:
        """Where the benchmark's parts add up: the problem's have to but for rounding."""
        known = self._known
        rounding = sum(known.noise[r] + known.uncertain(r) for r in (row, *parts))
        return sketched_sums.of_sum(known, row, parts, rounding)

    def _over(self, row: int, came: float) -> Excess:
        expected = came + self._known.noise[row]
        return excess_over(self._known.distance[row], expected, row, came=came, told=True)

    def _of_composite(self, readers: list[TreeNode], row: int) -> float | None:
        """What came by the one reader of a value, where it consists of several calls."""
        known = self._known
        (first, *others) = readers
        if others or not has(first.call, "composite"):
            return None
        if self._facts.expected.has_chosen(first, known.inputs(first)):
            return None  # other labels make another gradient of the same numbers
        whole = self._facts.expected.of_reader(first, row)
        if whole is None or any(
            self._facts.expected.stands_out(first, r) for r in known.outputs(first)
        ):
            return None  # what it keeps for its gradient may be as wrong as what it puts out
        recorded = known.outputs(first.backward) if first.backward is not None else []
        same = (r for r in recorded if known.size[r] == known.size[row])
        part = max(map(known.reach, same), default=0.0)
        # Of g − p·Σg behind it, with p of norm 1 at most.
        return whole + (1 + sqrt((known.paired.theirs[row].shape or (1,))[-1])) * part

    # --- readers ----------------------------------------------------------------------------------

    def silent_maker(self, node: TreeNode, row: int) -> TreeNode | None:
        """The backward call that made a gradient which `node` received, where none is recorded that
        it hands on: that of the one call which read what the forward call of `node` put out.
        """
        backs = self.makers(node, row)
        if len(backs) != 1 or backs[0] not in self._matching.partner:
            return None
        return None if self._known.outputs(backs[0]) else backs[0]

    def makers(self, node: TreeNode, row: int) -> list[TreeNode]:
        """The backward calls behind a gradient that `node` received: those of all calls which read
        what the forward call of `node` put out.
        """
        forward, known = node.forward, self._known
        if node.direction != "backward" or forward not in self._matching.partner:
            return []
        alike = [
            r
            for r in known.outputs(forward)
            if known.paired.theirs[r].shape == known.paired.theirs[row].shape
        ]
        backs = (reader.backward for r in alike for reader, _ in self._readers_of(r, forward))
        return list(dict.fromkeys(back for back in backs if back is not None))

    def returned_by(self, node: TreeNode, row: int) -> list[TreeNode]:
        """The calls of the forward pass whose backward calls `makers` lists."""
        backs = self.makers(node, row)
        return [back.forward for back in backs if back.forward is not None]

    def _gradients_of(self, reader: TreeNode, size: float, row: int, asked: TreeNode) -> list[int]:
        """The rows that may be the gradient which a call gives `size` elements that it read.

        A linear layer's is recorded of its module alone, unless that is what is `asked` for.
        """
        known, shape = self._known, self._known.paired.theirs[row].shape
        above = reader.parent
        alone = above is not None and above.kind == "module" and len(above.children) == 1
        alone = alone and above is not asked
        for one in (above if alone else None, reader):
            back = one.backward if one is not None else None
            if back is None or back not in self._matching.partner:
                continue
            put_out = known.outputs(back)
            alike = [r for r in put_out if known.paired.theirs[r].shape == shape]
            alike = alike or [r for r in put_out if known.size[r] == size]
            if alike and not self._incomparable.isdisjoint(alike):
                return []  # the other framework records the gradient of something else
            if alike:
                return sorted(alike, key=known.distance.__getitem__, reverse=True)
        return []

    def _readers_of(
        self, row: int, node: TreeNode, inside: bool = False
    ) -> list[tuple[TreeNode, float]]:
        """The calls that read what a node put out, or with `inside` those in it that read a value.

        Each with how many elements of it it reads: it may have been cut and moved since.
        """
        number = self._flow.prints.numbers[self._facts.paired.value_pair(row)[0]]
        if number == NO_PRINT:
            return []
        # A call that changes nothing reads and puts out the same numbers.
        return [
            (reader, size)
            for reader, maker, size in self._readers.get(number, ())
            if (is_in(reader, node) if inside else is_in(maker, node))
        ]

    @cached_property
    def _readers(self) -> dict[int, list[tuple[TreeNode, TreeNode, float]]]:
        """The calls of the forward pass that read a value, with its maker, by its fingerprint."""
        flow, nodes = self._flow, self._matching.problem.in_order
        sizes = self._facts.comparison.columns[0].statistics.size.tolist()
        found: dict[int, list[tuple[TreeNode, TreeNode, float]]] = defaultdict(list)
        columns = (flow.value, flow.consumer, flow.producer, flow.output)
        for value, consumer, producer, output in zip(*(each.tolist() for each in columns)):
            reader = nodes[consumer]
            if reader.direction == "forward" and reader.kind == "api":
                number = flow.prints.numbers[value if output == NOWHERE else output]
                found[number].append((reader, nodes[producer], sizes[value]))
        return found
