"""What the gradient depends on that calls of one run alone hand on.

Behind another cause most that is read differs. The gradient of a sum, a mean or a view depends on
none of it, that of a quotient on the divisor alone: where all that it depends on agrees, another
gradient is the doing of these calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from builder.diagnosis.excess import Makers
from builder.dump.statistic_cells import constant_of
from builder.evidence.distances import Evidence
from builder.flow.feeding import NOWHERE, Flow
from builder.flow.fingerprints import NO_PRINT
from builder.match.nodes import Matching
from builder.match.tree import Tree, TreeNode
from builder.operators.table import has, is_gradient_free

Made = Mapping[int, tuple[int, int]]
_MOST = 64  # calls of one run alone between two calls of both


@dataclass(frozen=True)
class LoneGradients:
    """`made` tells by whom values were made, `rows` their row, of either run."""

    matching: Matching
    known: Evidence
    flows: tuple[Flow, Flow]
    made: Sequence[Made]
    rows: Sequence[Mapping[int, int]]

    def share(self, makers: Makers) -> float | None:
        """The largest share by which anything is apart that such a gradient depends on.

        None where that is not told, or no call of one run alone made it.
        """
        found = 0.0
        for side, maker in enumerate((makers.ours, makers.theirs)):
            if maker is None or maker.direction != "backward":
                return None
            share = self._behind(side, maker)
            if share is None:
                return None
            found = max(found, share)
        return found

    def _behind(self, side: int, maker: TreeNode) -> float | None:
        """The same of one run's side of it."""
        tree = (self.matching.problem, self.matching.benchmark)[side]
        pending, seen, found = [maker], {maker}, 0.0
        while pending and len(seen) <= _MOST:
            for value in _depended_on(tree, node := pending.pop()):
                producer, output = self.made[side].get(value, (NOWHERE, NOWHERE))
                call = None if producer == NOWHERE else tree.in_order[producer]
                if call is not None and call not in self.matching.partner:
                    pending += [] if call in seen else [call]
                    seen.add(call)
                    continue
                row = self._twins[side].get(value) if call is None else self.rows[side].get(output)
                if row is not None and not self.known.hidden[row]:
                    found = max(found, self.known.share[row])
                elif call is not None or not _begins(tree, node, value):
                    return None
        return None if pending else found

    @cached_property
    def _twins(self) -> tuple[_Twins, _Twins]:
        ours, theirs = (_Twins(*one) for one in zip(self.flows, self.rows, strict=True))
        return ours, theirs


class _Twins:
    """The rows of values with the same numbers: what no call made is read by others as well."""

    def __init__(self, flow: Flow, rows: Mapping[int, int]) -> None:
        self._numbers = flow.prints.numbers
        self._rows = {self._numbers[value]: row for value, row in rows.items()}
        self._rows.pop(NO_PRINT, None)

    def get(self, value: int) -> int | None:
        """The row of a value with the numbers of one; None without."""
        return self._rows.get(self._numbers[value])


def _depended_on(tree: Tree, node: TreeNode) -> Iterator[int]:
    """The values that what a call of one run puts out depends on, those of its forward call too."""
    yield from _read(tree, node)
    forward = node.forward if node.direction == "backward" else None
    if forward is None or is_gradient_free(forward.call):
        return
    read = list(_read(tree, forward))
    yield from read[-1:] if has(forward.call, "divides") else read


def _read(tree: Tree, node: TreeNode) -> Iterator[int]:
    """The tensors that a call reads."""
    values = tree.dump.values
    for value in range(*node.values):
        if values.records[value].dtype is not None and not values.keys[value].startswith("output"):
            yield value


def _begins(tree: Tree, node: TreeNode, value: int) -> bool:
    """Whether a gradient begins with a value: that of a loss itself is one."""
    record = tree.dump.values.records[value]
    return node.direction == "backward" and constant_of(record.Max, record.Min) == 1.0
