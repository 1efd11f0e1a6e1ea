"""Nodes that may explain a later difference although no score shows it at them.

Calls that one side alone makes, calls with another argument or another precision: each is harmless
until values behind it begin to differ.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

from builder.diagnosis.facts import ESTIMATED, Facts
from builder.match.layout_calls import REASON as LAYOUT
from builder.match.nodes import Matching
from builder.match.step_phases import phase_of
from builder.match.tree import TreeNode

CandidateKind = Literal["extra", "missing", "argument", "precision"]
# A candidate is believed when one of this many compared nodes after it leaves the tolerance.
_SOON = 3
_CONVERSIONS = frozenset(("to", "float", "double", "half", "bfloat16", "type", "type_as"))
# How many compared nodes before a candidate tell what was usual, and what counts as a leap from
# there: relative to the usual strain, and as a share of the tolerance.
_BEFORE, _LEAP, _FAINT = 8, 5.0, 0.2


@dataclass(frozen=True, slots=True)
class Candidate:
    """One node and when it ran, in the problem side's execution order."""

    kind: CandidateKind
    node: TreeNode
    order: int


class Candidates:
    """Collects candidates while the walk goes on, and says which one a difference points to."""

    def __init__(self, facts: Facts, matching: Matching) -> None:
        self._facts = facts
        self._matching = matching
        self._listed: list[Candidate] = []
        ours, theirs = facts.comparison.precision
        self._converts = ours != theirs  # one run converts where the other need not
        calls = (n for n in matching.benchmark.in_order if self._may_explain(n))
        missing = [n for n in calls if n not in matching.partner]
        self._missing = [n for n in missing if matching.reason.get(n) != LAYOUT][::-1]
        self._compared: list[TreeNode] = []
        self._explained: set[TreeNode] = set()
        self._named: set[TreeNode] = set()

    def add(self, kind: CandidateKind, node: TreeNode) -> None:
        """Note a node of the problem side, unless it converts between the runs' formats."""
        if node in self._named or (kind == "extra" and not self._may_explain(node)):
            return
        self._listed.append(Candidate(kind, node, node.exec_order))

    def _may_explain(self, node: TreeNode) -> bool:
        converts = node.entry is not None and node.entry.type_name in _CONVERSIONS
        return node.kind == "api" and not (converts and self._converts)

    def follow(self, node: TreeNode, partner: TreeNode) -> None:
        """Go along with a matched node: what the benchmark did before its partner becomes known."""
        while self._missing and self._missing[-1].exec_order < partner.exec_order:
            missing = self._missing.pop()
            if missing not in self._named:
                self._listed.append(Candidate("missing", missing, node.exec_order))

    def compared(self, node: TreeNode, explained: bool) -> None:
        """Note a node with values, after it was judged; `explained`: it belongs to a finding.

        Such a node says nothing for a candidate: its difference has a cause already.
        """
        self._compared.append(node)
        if explained:
            self._explained.add(node)

    def ahead(self, kind: CandidateKind, node: TreeNode, order: int) -> Candidate | None:
        """An unmatched call that the dump names as the maker of a value, before its turn.

        What hooks call in the backward pass stands in no module, and so behind those around it.
        """
        known = self.named(node)
        if known is not None or node in self._named or node in self._matching.partner:
            return known
        if not self._may_explain(node) or self._matching.reason.get(node) == LAYOUT:
            return None
        self._listed.append(Candidate(kind, node, order))
        return self._listed[-1]

    def name(self, candidate: Candidate) -> None:
        """Take a candidate as the cause, and what stands in its place; all others are forgotten."""
        self._named |= {candidate.node, *self.instead(candidate)}
        self.clear()

    def usual_strain(self) -> float:
        """How near their tolerance the values of the last few compared nodes were."""
        return self._usual(self._compared[-_BEFORE:])

    def _usual(self, nodes: list[TreeNode]) -> float:
        """The largest strain of some nodes, those left out that belong to a finding."""
        sound = (node for node in nodes if node not in self._explained)
        return max((self._facts.strain(node) for node in sound), default=0.0)

    def clear(self) -> None:
        """Forget all candidates: one of them was named, or another cause was."""
        self._listed.clear()

    def left_over(self) -> list[Candidate]:
        """The candidates that nothing pointed to."""
        return list(self._listed)

    def behind(self, node: TreeNode) -> Candidate | None:
        """The latest candidate of the node's pass that the differences begin right after."""
        phase = phase_of(node)
        for candidate in reversed(self._listed):
            before = phase_of(candidate.node)
            # Another argument of the loss may show in its gradient first.
            same = before == phase or (candidate.kind == "argument" and phase == "backward")
            if same and self._begins_after(candidate, node):
                return candidate
        return None

    def inside(self, module: TreeNode) -> Candidate | None:
        """The candidate in a module whose output differs although all its calls agree."""
        within = [one for one in self._listed if module in self._around(one)]
        order: dict[CandidateKind, int] = {"precision": 0, "argument": 1, "extra": 2, "missing": 2}
        return min(reversed(within), key=lambda one: order[one.kind], default=None)

    def named(self, node: TreeNode, *kinds: CandidateKind) -> Candidate | None:
        """The candidate that is this very node, of one of the kinds if any are given."""
        own = (one for one in self._listed if one.node is node)
        return next((one for one in own if not kinds or one.kind in kinds), None)

    def run(self, candidate: Candidate) -> list[TreeNode]:
        """The unbroken run of candidates of the same kind that ends with one."""
        place = self._listed.index(candidate)
        run = [candidate.node]
        for other in reversed(self._listed[:place]):
            if other.kind != candidate.kind or other.node.exec_order != run[0].exec_order - 1:
                break
            run.insert(0, other.node)
        return run

    def instead(self, candidate: Candidate) -> list[TreeNode]:
        """The unmatched calls of the other run that stand in the place of a candidate's run."""
        nodes, known = self._matching.problem.in_order, self._matching.partner
        # What the benchmark alone calls is listed with the first matched node behind it.
        last = candidate.order
        while last < len(nodes) and nodes[last] not in known:
            last += 1
        first = last
        while first > 0 and nodes[first - 1] not in known:
            first -= 1
        other: CandidateKind = "missing" if candidate.kind == "extra" else "extra"
        beside = (one for one in self._listed if one.kind == other)
        return [one.node for one in beside if first <= one.order <= last]

    def _around(self, candidate: Candidate) -> list[TreeNode]:
        """The problem side's nodes that contain a candidate."""
        around = []
        above = candidate.node.parent
        while above is not None and above.kind != "root":
            ours = above if candidate.kind != "missing" else self._matching.partner.get(above)
            if ours is not None:
                around.append(ours)
            above = above.parent
        return around

    def _begins_after(self, candidate: Candidate, node: TreeNode) -> bool:
        place = bisect_left(self._compared, candidate.order, key=lambda other: other.exec_order)
        before = self._compared[max(0, place - _BEFORE) : place]
        near = self._compared[place : place + _SOON]
        if len(near) < _SOON:
            near.append(node)
        near += (
            other for other in self._around(candidate) if self._is_between(candidate.order, other)
        )
        if not self._explained.isdisjoint(before[-1:]):
            return False  # it began before
        near = [other for other in near if other not in self._explained]
        usual = self._usual(before)
        return any(self._facts.strain(other) > self._believable(usual) for other in near)

    def _is_between(self, order: int, node: TreeNode) -> bool:
        """Whether a node was compared since a place in execution order."""
        reached = self._compared[-1].exec_order if self._compared else -1
        compared = node in self._matching.partner and bool(self._facts.rows(node))
        return compared and order <= node.exec_order <= reached

    @staticmethod
    def _believable(usual: float) -> float:
        # Inside the tolerance a leap over what was usual before counts as well. Where that was
        # outside, rounding grows from call to call: only a step does, larger than estimates err.
        return ESTIMATED * usual if usual > 1.0 else min(1.0, max(_LEAP * usual, _FAINT))
