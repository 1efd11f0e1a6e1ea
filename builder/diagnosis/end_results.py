"""What a step comes to: its loss, what its outermost modules and calls put out, and gradients.

While one of these differs by more than rounding the runs differ, whether or not a finding says
where that begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

from builder.compare.comparison import Comparison
from builder.diagnosis.changes import scope_of
from builder.flow.feeding import NOWHERE, Flow
from builder.match.step_phases import phase_of
from builder.match.tree import TreeNode

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
        """The values that recorded calls read."""
        return set(self._flow.output[self._flow.output != NOWHERE].tolist())

    def holds(self, node: TreeNode) -> bool:
        """Whether a node is one: gradients of a parameter, or outermost with something unread."""
        if node.holds_gradients:
            return True
        if phase_of(node) == "after" or scope_of(node) is not None:
            return False
        # A module's gradients were made inside it, and nobody outside it may have read them.
        return node.kind == "module" or self.has_unread(node)

    def listed(self) -> list[TreeNode]:
        """All nodes of the run that hold one, in execution order."""
        return [node for node in self.tree.in_order if self.holds(node)]

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
    for row in (comparison.is_output & (comparison.stated > 0)).nonzero()[0].tolist():
        node = in_order[nodes[row]]
        if not held(node) or (node.direction == "backward" and not node.holds_gradients):
            continue
        if node.kind == "api" and not ends.is_unread(values[row]):
            continue
        yield EndResult(
            name=node.name,
            value=comparison.keys[row],
            role=_role(comparison, node, row),
            score=float(comparison.stated[row]),
            error=float(comparison.error[row]),
        )


def _role(comparison: Comparison, node: TreeNode, row: int) -> Role:
    if node.holds_gradients:
        return "gradient"
    return "loss" if comparison.statistics[0].size[row] == 1 else "output"


def _worst_first(end: EndResult) -> tuple[float, bool]:
    return -end.score, end.role == "gradient"
