"""Who put out both sides of a value, told by equal numbers, as far as the nodes were passed."""

from __future__ import annotations

from functools import cached_property

from builder.diagnosis.excess import PLAIN
from builder.diagnosis.facts import Facts
from builder.evidence.distances import ESTIMATED
from builder.flow.feeding import Flow
from builder.flow.fingerprints import NO_PRINT, Producers
from builder.match.tree import TreeNode
from builder.match.value_pairing import SURPLUS


class ValueMakers:
    """The makers of the values of both runs before the node that is judged."""

    def __init__(self, facts: Facts, flows: tuple[Flow, Flow]) -> None:
        self._facts, self._partner = facts, facts.comparison.matching.partner
        self._values = facts.comparison.matching.problem.dump.values
        self.ours, self.theirs = (Producers(flow.prints) for flow in flows)

    def of(self, row: int) -> tuple[TreeNode | None, TreeNode | None]:
        """The calls that put out the two sides of a row."""
        ours, theirs = self._facts.paired.value_pair(row)
        return self.ours.of(ours), self.theirs.of(theirs)

    def passed(self, node: TreeNode) -> None:
        """Later questions know a node of the problem run."""
        self.ours.reached = node.exec_order + 1

    def reached(self, partner: TreeNode) -> None:
        """Later questions know a node of the benchmark."""
        self.theirs.reached = max(self.theirs.reached, partner.exec_order + 1)

    def are_partners(self, row: int) -> bool:
        """Whether partners made both sides of a value; small integers share theirs by chance."""
        made, meant = self.of(row)
        return made is not None and self._partner.get(made) is meant

    def is_made(self, row: int) -> bool:
        """Whether a call put out the problem side's value of a row, as far as the dump tells."""
        return self.of(row)[0] is not None

    def is_from_outside(self, row: int) -> bool:
        """Whether a value of the problem side could be traced to a call, and no call made it.

        A constant has no fingerprint. Of one, a dump that names the makers of inputs says that
        nothing recorded made it by naming none.
        """
        paired = self._facts.paired
        ours, theirs = paired.value_pair(row)
        if SURPLUS in (ours, theirs) or paired.ours[row].source or self.is_made(row):
            return False
        if self.ours.prints.numbers[ours] != NO_PRINT:
            return True
        return self._names_makers and not paired.theirs[row].source

    @cached_property
    def _names_makers(self) -> bool:
        """Whether the problem side's dump says of inputs which output they are."""
        return any(record.source for record in self._values.records)

    def moved_from(self, row: int) -> TreeNode | None:
        """The call whose two sides agree on a value that differs here: elements were moved.

        Only where elements were compared, as tensors or by sketches, at the call and here.
        """
        facts, (ours, theirs) = self._facts, self._facts.paired.value_pair(row)
        made = self.ours.of(ours)
        if made is None or theirs == SURPLUS or not facts.sees_elements(row):
            return None
        # An infinite norm is the same whatever the other elements are.
        if facts.paired.is_nonfinite(ours) or not self.are_partners(row):
            return None
        numbers = self.ours.prints.numbers
        same = [
            r
            for r in facts.paired.rows(made)
            if facts.comparison.is_output[r]
            and facts.sees_elements(r)
            and numbers[facts.paired.value_pair(r)[0]] == numbers[ours]
        ]
        scores = facts.comparison.scores.score
        before = max((float(scores[r]) for r in same), default=1.0)
        return made if float(scores[row]) - before > facts.threshold + before else None

    def is_put_between(self, node: TreeNode, row: int) -> bool:
        """Whether the problem changes a value that the benchmark hands on untouched.

        The benchmark reads, or a module puts out, the very elements that a call of both runs made.
        What the problem has there no call of both runs made, and it is further apart than what that
        call made: by what two distances differ that are one (PLAIN, of estimates), for nothing that
        both runs call stands between to put the rest of it in.
        """
        ours, theirs = self.of(row)
        made = self._partner.get(theirs) if theirs is not None else None
        if made is None or made is node or ours in self._partner:
            return False
        before = self._made_as(made, self._facts.paired.value_pair(row)[1])
        error = self._facts.comparison.scores.error
        if not before or not self._facts.sees_elements(row):
            return False
        return float(error[row]) > PLAIN * ESTIMATED * max(float(error[r]) for r in before)

    def _made_as(self, made: TreeNode, theirs: int) -> list[int]:
        """The rows of what a call put out whose benchmark's elements are those of a value."""
        facts, numbers = self._facts, self.theirs.prints.numbers
        return [
            r
            for r in facts.paired.rows(made)
            if facts.comparison.is_output[r]
            and facts.sees_elements(r)
            and numbers[facts.paired.value_pair(r)[1]] == numbers[theirs]
        ]
