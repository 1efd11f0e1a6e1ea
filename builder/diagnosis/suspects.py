"""Nodes that may explain a later difference although no score shows it at them.

Calls that one side alone makes, calls with another argument or another precision: each is harmless
until values behind it begin to differ.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

from builder.diagnosis.evidence import Evidence
from builder.diagnosis.finding import phase_of
from builder.match.nodes import Matching
from builder.tree import TreeNode

SuspectKind = Literal["extra", "missing", "argument", "precision"]
# A suspect is believed when one of this many compared nodes after it leaves the tolerance.
_SOON = 3
# How many compared nodes before a suspect tell what was usual, and what counts as a leap from
# there: relative to the usual strain, and as a share of the tolerance.
_BEFORE, _LEAP, _FAINT = 8, 5.0, 0.2


@dataclass(frozen=True, slots=True)
class Suspect:
    """One node and when it ran, in the problem side's execution order."""

    kind: SuspectKind
    node: TreeNode
    order: int


class Suspects:
    """Collects suspects while the walk goes on, and says which one a difference points to."""

    def __init__(self, evidence: Evidence, matching: Matching) -> None:
        self._evidence = evidence
        self._matching = matching
        self._listed: list[Suspect] = []
        calls = (n for n in matching.benchmark.in_order if n.kind == "api")
        self._missing = [n for n in calls if n not in matching.partner][::-1]
        self._compared: list[TreeNode] = []

    def add(self, kind: SuspectKind, node: TreeNode) -> None:
        """Note a node of the problem side."""
        self._listed.append(Suspect(kind, node, node.exec_order))

    def follow(self, node: TreeNode, partner: TreeNode) -> None:
        """Go along with a matched node: what the benchmark did before its partner becomes known."""
        while self._missing and self._missing[-1].exec_order < partner.exec_order:
            self._listed.append(Suspect("missing", self._missing.pop(), node.exec_order))

    def compared(self, node: TreeNode) -> None:
        """Note a node with values, after it was judged."""
        self._compared.append(node)

    def clear(self) -> None:
        """Forget all suspects: one of them was named, or another cause was."""
        self._listed.clear()

    def left_over(self) -> list[Suspect]:
        """The suspects that nothing pointed to."""
        return list(self._listed)

    def behind(self, node: TreeNode) -> Suspect | None:
        """The latest suspect of the node's pass that the differences begin right after."""
        phase = phase_of(node)
        for suspect in reversed(self._listed):
            before = phase_of(suspect.node)
            # Another argument of the loss may show in its gradient first.
            same = before == phase or (suspect.kind == "argument" and phase == "backward")
            if same and self._begins_after(suspect, node):
                return suspect
        return None

    def inside(self, module: TreeNode) -> Suspect | None:
        """The suspect in a module whose output differs although all its calls agree."""
        within = [found for found in self._listed if module in self._around(found)]
        order: dict[SuspectKind, int] = {"precision": 0, "argument": 1, "extra": 2, "missing": 2}
        return min(reversed(within), key=lambda found: order[found.kind], default=None)

    def named(self, node: TreeNode, *kinds: SuspectKind) -> Suspect | None:
        """The suspect that is this very node, of one of the kinds if any are given."""
        own = (found for found in self._listed if found.node is node)
        return next((found for found in own if not kinds or found.kind in kinds), None)

    def run(self, suspect: Suspect) -> list[TreeNode]:
        """The unbroken run of suspects of the same kind that ends with one."""
        place = self._listed.index(suspect)
        run = [suspect.node]
        for other in reversed(self._listed[:place]):
            if other.kind != suspect.kind or other.node.exec_order != run[0].exec_order - 1:
                break
            run.insert(0, other.node)
        return run

    def _around(self, suspect: Suspect) -> list[TreeNode]:
        """The problem side's nodes that contain a suspect."""
        found = []
        above = suspect.node.parent
        while above is not None and above.kind != "root":
            ours = above if suspect.kind != "missing" else self._matching.partner.get(above)
            if ours is not None:
                found.append(ours)
            above = above.parent
        return found

    def _begins_after(self, suspect: Suspect, node: TreeNode) -> bool:
        place = bisect_left(self._compared, suspect.order, key=lambda other: other.exec_order)
        before = self._compared[max(0, place - _BEFORE) : place]
        near = self._compared[place : place + _SOON]
        if len(near) < _SOON:
            near.append(node)
        near += (other for other in self._around(suspect) if self._is_between(suspect.order, other))
        usual = max((self._evidence.strain(other) for other in before), default=0.0)
        return any(self._evidence.strain(other) > self._believable(usual) for other in near)

    def _is_between(self, order: int, node: TreeNode) -> bool:
        """Whether a node was compared since a place in execution order."""
        reached = self._compared[-1].exec_order if self._compared else -1
        compared = node in self._matching.partner and bool(self._evidence.rows(node))
        return compared and order <= node.exec_order <= reached

    @staticmethod
    def _believable(usual: float) -> float:
        # Inside the tolerance a leap over what was usual before counts as well.
        return min(1.0, max(_LEAP * usual, _FAINT))
