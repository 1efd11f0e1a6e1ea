"""Which of the changed calls a difference points to, where scores alone tell that there is one.

Each is harmless until values behind it begin to differ.
"""

from __future__ import annotations

from bisect import bisect_left

from builder.diagnosis.changes import Changes, is_in, scope_of
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Change
from builder.diagnosis.policies.by_scores.score_facts import ScoreFacts
from builder.evidence.distances import ESTIMATED
from builder.match.tree import TreeNode

# A candidate is believed when one of this many compared nodes after it leaves the tolerance.
_SOON = 3
# How many compared nodes before a candidate tell what was usual, and what counts as a leap from
# there: relative to the usual strain, and as a share of the tolerance.
_BEFORE, _LEAP, _FAINT = 8, 5.0, 0.2
# What is certain to compute otherwise comes first.
_PLAINEST = {"precision": 0, "argument": 1}


class Candidates:
    """Says which of the changed calls that were passed a difference points to."""

    def __init__(self, facts: Facts, scored: ScoreFacts, changes: Changes) -> None:
        self._facts, self._scored, self.changes = facts, scored, changes
        self._partner = facts.comparison.matching.partner
        self._compared: list[TreeNode] = []
        self._explained: set[TreeNode] = set()

    def compared(self, node: TreeNode, explained: bool) -> None:
        """Note a node with values, after it was judged; `explained`: it belongs to a finding.

        Such a node says nothing for a candidate: its difference has a cause already.
        """
        self._compared.append(node)
        if explained:
            self._explained.add(node)

    def usual_strain(self) -> float:
        """How near their tolerance the values of the last few compared nodes were."""
        return self._usual(self._compared[-_BEFORE:])

    def _usual(self, nodes: list[TreeNode]) -> float:
        """The largest strain of some nodes, those left out that belong to a finding."""
        sound = (node for node in nodes if node not in self._explained)
        return max((self._scored.strain(node) for node in sound), default=0.0)

    def behind(self, node: TreeNode) -> Change | None:
        """The latest candidate of the node's pass that the differences begin right after."""
        phase = node.phase
        for candidate in reversed(self.changes.listed):
            before = candidate.node.phase
            # Another argument of the loss may show in its gradient first.
            same = before == phase or (candidate.kind == "argument" and phase == "backward")
            if same and self._begins_after(candidate, node):
                return candidate
        return None

    def inside(self, module: TreeNode) -> Change | None:
        """The candidate in a module whose output differs although all its calls agree."""
        within = [one for one in self.changes.listed if is_in(one.scope, module)]
        return min(reversed(within), key=lambda one: _PLAINEST.get(one.kind, 2), default=None)

    def _begins_after(self, candidate: Change, node: TreeNode) -> bool:
        place = bisect_left(self._compared, candidate.order, key=lambda other: other.exec_order)
        before = self._compared[max(0, place - _BEFORE) : place]
        near = self._compared[place : place + _SOON]
        if len(near) < _SOON:
            near.append(node)
        around = candidate.scope
        while around is not None:
            near += [around] if self._is_between(candidate.order, around) else []
            around = scope_of(around)
        if not self._explained.isdisjoint(before[-1:]):
            return False  # it began before
        near = [other for other in near if other not in self._explained]
        usual = self._usual(before)
        return any(self._scored.strain(other) > self._believable(usual) for other in near)

    def _is_between(self, order: int, node: TreeNode) -> bool:
        """Whether a node was compared since a place in execution order."""
        reached = self._compared[-1].exec_order if self._compared else -1
        compared = node in self._partner and bool(self._facts.paired.rows(node))
        return compared and order <= node.exec_order <= reached

    @staticmethod
    def _believable(usual: float) -> float:
        # Inside the tolerance a leap over what was usual before counts as well. Where that was
        # outside, rounding grows from call to call: only a step does, larger than estimates err.
        return ESTIMATED * usual if usual > 1.0 else min(1.0, max(_LEAP * usual, _FAINT))
