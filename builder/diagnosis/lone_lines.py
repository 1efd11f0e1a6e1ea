"""Which calls that one run alone makes stand on a line that the other run does not have.

A helper that both runs have may make a call here that it does not make there: because it reads
otherwise, or because it was called otherwise. The lines that the other run goes through tell.
"""

from __future__ import annotations

from functools import cached_property

from builder.diagnosis.change_kinds import Side
from builder.dump.stack_frames import codes_by_function, is_line_alone
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
        codes = self._codes_of_benchmark if is_ours else self._codes_of_problem
        return is_line_alone(tree.dump.frames[node.stack].splitlines(), codes)

    @cached_property
    def _codes_of_problem(self) -> dict[str, set[str]]:
        return codes_by_function(self._matching.problem.dump.frames)

    @cached_property
    def _codes_of_benchmark(self) -> dict[str, set[str]]:
        return codes_by_function(self._matching.benchmark.dump.frames)
