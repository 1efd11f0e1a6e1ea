"""A finding: one place where the two runs begin to differ, with its reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from builder.reasons import Reason
from builder.tree import TreeNode

FindingKind = Literal[
    "introduced",
    "input_differs",
    "parameter_differs",
    "non_finite",
    "argument_differs",
    "precision",
    "communication",
]
Phase = Literal["forward", "backward", "optimizer"]
_PHASES: tuple[Phase, ...] = ("forward", "backward", "optimizer")


@dataclass(slots=True, eq=False)
class Finding:
    """A suspect; `node` may belong to either side, `propagated_to` counts what it explains.

    `order` is the place of the node in the problem side's execution order (for a call that only
    the benchmark makes: the place of the first node it affects).
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

    @property
    def introduced(self) -> float | None:
        """How much of the score the node's inputs do not explain."""
        if self.score is None:
            return None
        return max(0.0, self.score - (self.input_score or 0.0))

    def sort_key(self) -> tuple[int, int]:
        """Forward before backward before optimizer, then execution order."""
        return (_PHASES.index(phase_of(self.node)), self.order)


def phase_of(node: TreeNode) -> Phase:
    """The part of a step that a node runs in; recomputed calls run during the backward pass."""
    top = node
    while top.parent is not None and top.parent.kind != "root":
        top = top.parent
    if top.name in ("optimizer", "clip_grad"):
        return "optimizer"
    if node.recomputed:
        return "backward"
    return node.direction or "forward"
