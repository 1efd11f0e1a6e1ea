"""What a step comes to: its loss, what its outermost modules and calls put out, and gradients.

While one of these differs by more than rounding the runs differ, whether or not a finding says
where that begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from math import isfinite
from typing import Literal

from builder.compare.comparison import Comparison
from builder.diagnosis.changes import scope_of
from builder.diagnosis.excess import PLAIN
from builder.dump.passing_calls import call_of
from builder.dump.values import Record
from builder.evidence.distances import SUMMED
from builder.flow.feeding import NOWHERE, Flow, named_output
from builder.flow.parameter_readers import holders
from builder.match.tree import TreeNode
from msprobe_core.format import machine_epsilon

Role = Literal["loss", "output", "gradient"]
# How many of a pair travel with its outcome: all that one is told of, and a few for the tables.
MOST = 16


@dataclass(frozen=True, slots=True)
class EndResult:
    """One value of an end result by its node's name and its key, its score and relative error.

    A `loss` is a single number that nothing recorded reads, `gradient` that of a parameter.
    """

    name: str
    value: str
    role: Role
    score: float
    error: float


@dataclass(frozen=True, slots=True)
class EndsApart:
    """How many values of end results differ by more than rounding, and the worst of them.

    `worst` holds up to MOST of them, the worst first, gradients behind all others of a score.
    """

    count: int = 0
    worst: tuple[EndResult, ...] = ()


NONE_APART = EndsApart()


def are_one_number(ours: Record | None, theirs: Record | None) -> bool:
    """Whether two single numbers are the same up to PLAIN roundings of a value; None never is."""
    if ours is None or theirs is None or ours.dtype != theirs.dtype:
        return False
    one, other = ours.Max, theirs.Max
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return False
    bound = PLAIN * SUMMED * (machine_epsilon(ours.dtype or "") or 0.0)
    return isfinite(one - other) and abs(one - other) <= bound * max(abs(one), abs(other))


def ends_apart(comparison: Comparison, flow: Flow) -> EndsApart:
    """The end results that score above 0: rounding does not explain them.

    `flow` is that of the problem run. What could not be compared is none of them.
    """
    found = sorted(_differing(comparison, EndResults(flow)), key=_worst_first)
    return EndsApart(len(found), tuple(found[:MOST]))


class EndResults:
    """Which nodes of a run hold what its step comes to; `flow` is that of the run."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self.tree = flow.tree

    @cached_property
    def _read(self) -> set[int]:
        """The values that recorded calls read, by themselves or behind calls without values."""
        read = set(self._flow.output[self._flow.output != NOWHERE].tolist())
        return read | self._read_in_passing()

    def _read_in_passing(self) -> set[int]:
        """What calls without values read, those left out that nothing recorded comes of."""
        values, passing = self.tree.dump.values, self.tree.dump.passing or {}
        pending = [record.through for record in values.records if record.through] if passing else []
        named, found = set(pending), set()
        while pending:
            source = pending.pop()
            made = named_output(self.tree, source)
            if made is not None:
                node, key = made
                found |= {i for i in range(*node.values) if values.keys[i] == key}
            call = passing.get(call_of(source))
            read = {one for _, one in call.sources if one is not None} if call else set()
            pending += read - named
            named |= read
        return found

    def holds(self, node: TreeNode) -> bool:
        """Whether a node is one: gradients of a parameter, or outermost with something unread."""
        if node.holds_gradients:
            return True
        if node.phase == "after" or scope_of(node) is not None:
            return False
        # A module's gradients were made inside it, and nobody outside it may have read them.
        if node.kind == "module":
            return True
        is_passed_on = node.direction == "backward" and not self._may_read_a_leaf(node.forward)
        return self.has_unread(node) and not is_passed_on

    def _may_read_a_leaf(self, call: TreeNode | None) -> bool:
        """Whether a call reads what wants a gradient and nothing recorded made, as parameters.

        Those of which a module's gradients are recorded are no more than a part of these.
        """
        if call is None:
            return True
        values, numbers = self.tree.dump.values, self._flow.prints.numbers
        return any(
            record.requires_grad is not False and record.source is None and record.through is None
            for i, record in enumerate(values.records[slice(*call.values)], call.values[0])
            if record.dtype is not None and i not in self._made and numbers[i] not in self._held
            if not values.keys[i].startswith("output")
        )

    @cached_property
    def _held(self) -> dict[int, TreeNode]:
        return holders(self._flow)

    @cached_property
    def _made(self) -> set[int]:
        """The values that recorded calls made, as far as is known."""
        return set(self._flow.value.tolist())

    def listed(self) -> list[TreeNode]:
        """All nodes of the run that hold one, in execution order."""
        return [node for node in self.tree.in_order if self.holds(node)]

    def numbers(self, nodes: Iterable[TreeNode]) -> list[Record | None]:
        """What nodes put out that nobody reads; None for what is more than one number."""
        records = self.tree.dump.values.records
        made = self.unread(nodes)
        return [records[i] if records[i].shape in ([], (), [1], (1,)) else None for i in made]

    def unread(self, nodes: Iterable[TreeNode]) -> Iterator[int]:
        """The values that nodes put out and no recorded call reads."""
        return (i for node in nodes for i in range(*node.values) if self.is_unread(i))

    def has_unread(self, node: TreeNode) -> bool:
        """Whether a node puts out a value that no recorded call reads."""
        return any(map(self.is_unread, range(*node.values)))

    def is_unread(self, value: int) -> bool:
        """Whether a value of the run's dump is put out and read by no recorded call."""
        return value not in self._read and self.tree.dump.values.keys[value].startswith("output")


def _differing(comparison: Comparison, ends: EndResults) -> Iterator[EndResult]:
    nodes, in_order = comparison.pairs.node.tolist(), comparison.matching.problem.in_order
    values = comparison.pairs.problem.tolist()
    held = cache(ends.holds)  # a node is asked of for each value that it puts out
    for row in (comparison.is_output & (comparison.scores.stated > 0)).nonzero()[0].tolist():
        node = in_order[nodes[row]]
        if not held(node) or (node.direction == "backward" and not node.holds_gradients):
            continue
        if node.kind == "api" and not ends.is_unread(values[row]):
            continue
        yield EndResult(
            name=node.name,
            value=comparison.keys[row],
            role=_role(comparison, node, row),
            score=float(comparison.scores.stated[row]),
            error=float(comparison.scores.error[row]),
        )


def _role(comparison: Comparison, node: TreeNode, row: int) -> Role:
    if node.holds_gradients:
        return "gradient"
    return "loss" if comparison.statistics[0].size[row] == 1 else "output"


def _worst_first(end: EndResult) -> tuple[float, bool]:
    return -end.score, end.role == "gradient"
