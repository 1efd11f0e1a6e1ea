"""A finding: one place where the two runs begin to differ, with its reasons; and changed calls."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

from builder.match.tree import TreeNode
from builder.reasons import AttributeDiffers, Reason

FindingKind = Literal[
    "introduced",
    "input_differs",
    "parameter_differs",
    "non_finite",
    "argument_differs",
    "precision",
    "communication",
]


# Kinds of findings whose difference is in what their node was given, or is.
BEGINS_BEFORE: frozenset[FindingKind] = frozenset(
    ("input_differs", "parameter_differs", "argument_differs", "communication")
)


@dataclass(slots=True, eq=False)
class Finding:
    """A suspect; `node` may belong to either side, `propagated_to` counts what it explains.

    A weak one differs without effect on what comes after and explains nothing else. `inherits`
    holds the fingerprints of the differing parameters or inputs, which an earlier step may have
    left behind; of such a finding `leaves` holds those of what its optimizer made of them for the
    step behind. `order` is the place of the node in the problem side's execution order (for a call
    that only the benchmark makes: the place of the first node it affects). It `heals_by_itself`
    where all that it changes comes to agree again in its step, whatever other findings leave. One
    that `stands_alone` no other finding can explain.
    """

    kind: FindingKind
    node: TreeNode
    side: Literal["problem", "benchmark"]
    order: int
    reasons: list[Reason]
    score: float | None = None
    input_score: float | None = None
    propagated_to: int = 0
    carriers: list[TreeNode] = field(default_factory=list)
    is_weak: bool = False
    inherits: frozenset[Hashable] = frozenset()
    leaves: frozenset[Hashable] = frozenset()
    heals_by_itself: bool = False
    stands_alone: bool = False

    @property
    def introduced(self) -> float | None:
        """How much of the score the node's inputs do not explain.

        Of what begins in the inputs themselves (an argument, other data, a changed call before),
        nothing explains any.
        """
        if self.score is None or self.kind in BEGINS_BEFORE:
            return self.score
        return max(0.0, self.score - (self.input_score or 0.0))

    def sort_key(self) -> tuple[int, int]:
        """Forward before backward before what follows it, then execution order.

        A gradient that one run alone wants changes no number before the pass that computes it.
        """
        part, first = self.node.in_step[0], self.reasons[0] if self.reasons else None
        wants = isinstance(first, AttributeDiffers) and first.attribute == "requires_grad"
        return part + (wants and self.node.phase == "forward"), self.order


ChangeKind = Literal["extra", "missing", "argument", "precision", "gradient"]


@dataclass(slots=True, eq=False)
class Change:
    """A call that is not as in the other run; `scope` is the problem's module around it.

    `order` is its place among the problem's nodes, of a call that the benchmark alone makes that
    of the first node behind it. It is `named` once, by itself or with others in a `finding`.
    """

    kind: ChangeKind
    node: TreeNode
    order: int
    scope: TreeNode | None
    named: bool = False
    finding: Finding | None = None
