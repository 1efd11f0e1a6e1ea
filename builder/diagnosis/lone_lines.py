"""Which calls that one run alone makes stand on a line that the other run does not have.

A helper that both runs have may make a call here that it does not make there: because it reads
otherwise, or because it was called otherwise. The lines that either run goes through tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from builder.diagnosis.change_kinds import Side
from builder.dump.stack_frames import is_line_alone, lines_by_code
from builder.match.nodes import Matching
from builder.match.tree import TreeNode


class LoneLines:
    """The lines of two runs; those of a run are read when first asked for, all at once."""

    def __init__(self, matching: Matching) -> None:
        self._matching = matching

    def has(self, node: TreeNode, side: Side) -> bool:
        """Whether a call has no partner, and the other run its function without its line."""
        if node in self._matching.partner or node.stack is None:
            return False
        is_ours = side == "problem"
        tree = self._matching.problem if is_ours else self._matching.benchmark
        own, others = self._lines if is_ours else self._lines[::-1]
        return is_line_alone(tree.dump.frames[node.stack].splitlines(), own, others)

    @cached_property
    def _lines(self) -> Sequence[Mapping[tuple[str, str], int]]:
        sides = self._matching.problem, self._matching.benchmark
        return [lines_by_code(tree.dump.frames) for tree in sides]
